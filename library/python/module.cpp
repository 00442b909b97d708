// The extension module metafuse._metafuse, which converts Python's data to handles of libmetafuse and
// back. The public interface is in metafuse/__init__.py. The interpreter's lock is released while the
// library works.
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <metafuse/methods.h>
#include <metafuse/train.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "library/python/collections.h"

namespace py = pybind11;

namespace {

using metafuse::Error;
using metafuse::Model;
using metafuse::Options;
using namespace metafuse_python;

/// Calls a Python callable with the progress of long work, holding the interpreter's lock. It also checks for
/// signals, so that Ctrl-C stops the work.
class Listener {
 public:
  explicit Listener(py::object callable) : callable_(std::move(callable)) {}

  static int call(void* context, std::size_t done, std::size_t total) {
    auto& self = *static_cast<Listener*>(context);
    const py::gil_scoped_acquire acquired;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (self.callable_.is_none()) return 0;
      const py::object answer = self.callable_(done, total);
      return answer.is(py::bool_(false)) ? 1 : 0;
    } catch (const py::error_already_set&) {
      self.raised_ = std::current_exception();
      return 1;
    }
  }
  /// Runs the work, which gets this function and its context; raises an exception of the callable again.
  template <class Call>
  void run(Call work) {
    try {
      without_lock([&] { metafuse::detail::check(work(call, this)); });
    } catch (const Error&) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

 private:
  py::object callable_;
  std::exception_ptr raised_;
};

/// The text that `make(char**)` writes.
template <class Make>
std::string text_from(Make make) {
  return without_lock([&] { return metafuse::detail::text_of(make); });
}

/// The same for work that reports its progress: `make(progress, context, char**)`.
template <class Make>
std::string text_from(const py::object& progress, Make make) {
  char* text = nullptr;
  Listener(progress).run([&](auto... listener) { return make(listener..., &text); });
  return metafuse::detail::Owned<char>(text).get();
}

template <class Collection>
Collection read_without_lock(const std::string& file) {
  return without_lock([&] { return Collection::read(file); });
}

std::vector<const metafuse_run*> handles_of(const std::vector<const Run*>& runs) {
  std::vector<const metafuse_run*> out;
  for (const Run* const run : runs) out.push_back(run->handle());
  return out;
}

const metafuse_qrels* handle_or_null(const Qrels* qrels) {
  return qrels == nullptr ? nullptr : qrels->handle();
}

/// The run that `make(metafuse_run**)` writes.
template <class Make>
Run run_from(Make make) {
  return without_lock([&] { return metafuse::detail::fused_run(make); });
}

py::list fused_pairs(const Run& run) {
  py::list out;
  for (const auto& [document, score] : run.list(0)) out.append(py::make_tuple(document, score));
  return out;
}

py::list fuse_lists(const py::list& lists, const std::string& method, const Options& options) {
  const PythonLists rows(lists);
  const metafuse::detail::OptionList given(options);
  return fused_pairs(run_from([&](metafuse_run** fused) {
    return metafuse_fuse_lists(rows.data(), rows.size(), method.c_str(), given.data(), given.size(), fused);
  }));
}

Run fuse_runs(const std::vector<const Run*>& runs, const std::string& method, const Qrels* train,
              const Options& options) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  return run_from([&](metafuse_run** fused) {
    return metafuse_fuse_runs(handles.data(), handles.size(), method.c_str(), handle_or_null(train),
                              given.data(), given.size(), fused);
  });
}

py::list model_fuse_lists(const Model& model, const py::list& lists, const Options& options) {
  const PythonLists rows(lists);
  const metafuse::detail::OptionList given(options);
  return fused_pairs(run_from([&](metafuse_run** fused) {
    return metafuse_model_fuse_lists(model.handle(), rows.data(), rows.size(), given.data(), given.size(),
                                     fused);
  }));
}

Run model_fuse_runs(const Model& model, const std::vector<const Run*>& runs, const Options& options) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  return run_from([&](metafuse_run** fused) {
    return metafuse_model_fuse_runs(model.handle(), handles.data(), handles.size(), given.data(),
                                    given.size(), fused);
  });
}

std::string model_explain(const Model& model, const py::list& lists, const std::string& document) {
  const PythonLists rows(lists);
  return text_from([&](char** json) {
    return metafuse_model_explain(model.handle(), rows.data(), rows.size(), document.c_str(), json);
  });
}

Model train(const std::vector<const Run*>& runs, const Qrels& qrels, const std::string& learner,
            const Options& options, const Qrels* validate, const py::object& progress) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  metafuse_model* model = nullptr;
  Listener(progress).run([&](auto... listener) {
    return metafuse_train(handles.data(), handles.size(), qrels.handle(), handle_or_null(validate),
                          learner.c_str(), given.data(), given.size(), listener..., &model);
  });
  return Model(model);
}

std::string cross_validate(const std::vector<const Run*>& runs, const Qrels& qrels,
                           const std::string& learner, const Options& options, const py::object& progress) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  return text_from(progress, [&](auto... rest) {
    return metafuse_cross_validate(handles.data(), handles.size(), qrels.handle(), learner.c_str(),
                                   given.data(), given.size(), rest...);
  });
}

/// The numbers of an evaluation, as arrays that share its memory.
py::tuple evaluate(const Run& run, const Qrels& qrels, const std::string& measures, const Options& options) {
  const metafuse::detail::OptionList given(options);
  metafuse_evaluation* handle = nullptr;
  without_lock([&] {
    metafuse::detail::check(metafuse_evaluate(run.handle(), qrels.handle(), measures.c_str(), given.data(),
                                              given.size(), &handle));
  });
  const py::capsule owner(
      handle, [](void* owned) { metafuse_evaluation_free(static_cast<metafuse_evaluation*>(owned)); });
  std::vector<std::string> queries;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < metafuse_evaluation_query_count(handle); ++i)
    queries.emplace_back(metafuse_evaluation_query(handle, i));
  for (std::size_t i = 0; i < metafuse_evaluation_measure_count(handle); ++i)
    names.emplace_back(metafuse_evaluation_measure(handle, i));
  const Doubles values({queries.size(), names.size()}, metafuse_evaluation_values(handle), owner);
  const Doubles summary(names.size(), metafuse_evaluation_summary(handle), owner);
  return py::make_tuple(queries, names, values, summary);
}

std::string compare(const std::vector<const Run*>& runs, const Qrels& qrels, const std::string& measures,
                    const Options& options) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  return text_from([&](char** report) {
    return metafuse_compare(handles.data(), handles.size(), qrels.handle(), measures.c_str(), given.data(),
                            given.size(), report);
  });
}

std::string compare_methods(const std::vector<const Run*>& runs, const Qrels& qrels,
                            const std::string& measures, const Options& options, const py::object& progress) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  return text_from(progress, [&](auto... rest) {
    return metafuse_compare_methods(handles.data(), handles.size(), qrels.handle(), measures.c_str(),
                                    given.data(), given.size(), rest...);
  });
}

}  // namespace

PYBIND11_MODULE(_metafuse, module) {
  module.doc() = "Internal bindings between the package metafuse and libmetafuse; not a public interface.";
  // metafuse/_errors.py defines the exceptions; an error becomes the one for its status.
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const Error& error) {
      const py::object made =
          py::module_::import("metafuse._errors").attr("error_of")(error.status(), error.what());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    }
  });
  py::class_<Run>(module, "Run")
      .def(py::init<const std::string&>())
      .def_static("read", &read_without_lock<Run>)
      .def("add", &add_lists)
      .def("add_rows", &add_rows)
      .def("to_dict", &dict_of)
      .def("to_rows", &rows_of)
      .def("write", &Run::write)
      .def_property_readonly("name", &Run::name)
      .def("__len__", &Run::query_count);
  py::class_<Qrels>(module, "Qrels")
      .def(py::init<>())
      .def_static("read", &read_without_lock<Qrels>)
      .def("add", &add_judgments)
      .def("add_rows", &add_judged_rows);
  py::class_<Model>(module, "Model")
      .def_static("load",
                  [](const std::string& file) { return without_lock([&] { return Model::load(file); }); })
      .def_static("parse", &Model::parse)
      .def("save", &Model::save)
      .def("text", &Model::text)
      .def("show", &Model::show)
      .def("learner", &Model::learner)
      .def("lists", &Model::lists)
      .def("fuse_lists", &model_fuse_lists)
      .def("fuse_runs", &model_fuse_runs)
      .def("explain", &model_explain);
  module.def("version", &metafuse::version);
  module.def("describe", &metafuse::describe);
  module.def("fuse_lists", &fuse_lists);
  module.def("fuse_runs", &fuse_runs);
  module.def("train", &train);
  module.def("cross_validate", &cross_validate);
  module.def("evaluate", &evaluate);
  module.def("compare", &compare);
  module.def("compare_methods", &compare_methods);
}
