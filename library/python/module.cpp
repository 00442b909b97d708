// The extension module metafuse._metafuse: Python's data into handles of libmetafuse and back. What people
// call is in metafuse/__init__.py. The interpreter's lock is released while the library works.
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <metafuse/methods.h>
#include <metafuse/train.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace {

using metafuse::Error;
using metafuse::Model;
using metafuse::Options;
using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Ranks = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Grades = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

Error usage(const std::string& text) {
  return {METAFUSE_USAGE, text.c_str()};
}

/// The text of a str without copying it; it lives as long as the object.
const char* text_of(py::handle object, const char* what) {
  Py_ssize_t size = 0;
  const char* const text =
      PyUnicode_Check(object.ptr()) ? PyUnicode_AsUTF8AndSize(object.ptr(), &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    throw usage(std::string(what) + " " + std::string(py::repr(object)) + " is no text (str) of UTF-8");
  }
  if (std::char_traits<char>::length(text) != static_cast<std::size_t>(size))
    throw usage(std::string(what) + " " + std::string(py::repr(object)) + " holds a zero byte");
  return text;
}

double number_of(py::handle object, const char* query, const char* document) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value != -1.0 || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  throw usage(std::string("query ") + query + ": the score of " + document + " is no number");
}

/// The texts of a list, tuple or array of objects; `kept` holds references to them.
std::vector<const char*> texts_of(const py::object& items, const char* what, std::vector<py::object>& kept) {
  std::vector<const char*> out;
  for (const py::handle item : items) {
    kept.push_back(py::reinterpret_borrow<py::object>(item));
    out.push_back(text_of(item, what));
  }
  return out;
}

/// Adds {document: score} or [document, ...] of one query to a run.
void add_list(metafuse_run* run, const char* query, const py::handle& list) {
  std::vector<const char*> documents;
  std::vector<double> scores;
  std::vector<py::object> kept;
  const bool is_scored = py::isinstance<py::dict>(list);
  if (is_scored) {
    for (const auto& [document, score] : py::reinterpret_borrow<py::dict>(list)) {
      documents.push_back(text_of(document, "the document"));
      scores.push_back(number_of(score, query, documents.back()));
    }
  } else if (PySequence_Check(list.ptr()) != 0 && PyUnicode_Check(list.ptr()) == 0) {
    documents = texts_of(py::reinterpret_borrow<py::object>(list), "the document", kept);
  } else {
    throw usage(std::string("query ") + query + ": give {document: score} or a list of documents");
  }
  metafuse::detail::check(
      metafuse_run_add(run, query, documents.data(), is_scored ? scores.data() : nullptr, documents.size()));
}

/// Calls the library without the interpreter's lock; its error is that of this thread, read before the lock
/// is taken again.
template <class Call>
void call_library(Call call) {
  int status = METAFUSE_OK;
  std::string problem;
  {
    const py::gil_scoped_release released;
    status = call();
    if (status != METAFUSE_OK) problem = metafuse_last_error();
  }
  if (status != METAFUSE_OK) throw Error(status, problem.c_str());
}

/// A run with what Python adds to it and reads from it.
class PythonRun {
 public:
  explicit PythonRun(const std::string& name) {
    metafuse_run* made = nullptr;
    metafuse::detail::check(metafuse_run_new(name.c_str(), &made));
    handle_.reset(made);
  }
  explicit PythonRun(metafuse_run* owned) : handle_(owned) {}
  static PythonRun read(const std::string& file) {
    metafuse_run* made = nullptr;
    call_library([&] { return metafuse_run_read(file.c_str(), &made); });
    return PythonRun(made);
  }

  void add(const py::dict& queries) {
    for (const auto& [query, list] : queries) add_list(handle_.get(), text_of(query, "the query"), list);
  }
  void add_rows(const py::object& queries, const py::object& documents, const std::optional<Doubles>& scores,
                const std::optional<Ranks>& ranks) {
    std::vector<py::object> kept;
    const auto query_ids = texts_of(queries, "the query", kept);
    const auto document_ids = texts_of(documents, "the document", kept);
    const auto count = static_cast<py::ssize_t>(query_ids.size());
    if (document_ids.size() != query_ids.size() || (scores && scores->size() != count) ||
        (ranks && ranks->size() != count))
      throw usage("the columns of a table have the same length");
    metafuse::detail::check(metafuse_run_add_rows(handle_.get(), query_ids.data(), document_ids.data(),
                                                  scores ? scores->data() : nullptr,
                                                  ranks ? ranks->data() : nullptr, query_ids.size()));
  }
  /// {query: {document: score}}, each best first.
  py::dict to_dict() const {
    py::dict out;
    for (std::size_t q = 0; q < metafuse_run_query_count(handle()); ++q) {
      py::dict list;
      for (std::size_t i = 0; i < metafuse_run_size(handle(), q); ++i)
        list[py::str(metafuse_run_document(handle(), q, i))] = metafuse_run_score(handle(), q, i);
      out[py::str(metafuse_run_query(handle(), q))] = std::move(list);
    }
    return out;
  }
  /// The columns qid, docno, rank, score.
  py::tuple to_rows() const {
    py::list queries;
    py::list documents;
    std::vector<std::int64_t> ranks;
    std::vector<double> scores;
    for (std::size_t q = 0; q < metafuse_run_query_count(handle()); ++q) {
      const py::str query(metafuse_run_query(handle(), q));
      for (std::size_t i = 0; i < metafuse_run_size(handle(), q); ++i) {
        queries.append(query);
        documents.append(py::str(metafuse_run_document(handle(), q, i)));
        ranks.push_back(static_cast<std::int64_t>(i + 1));
        scores.push_back(metafuse_run_score(handle(), q, i));
      }
    }
    return py::make_tuple(queries, documents, py::array(py::cast(ranks)), py::array(py::cast(scores)));
  }
  void write(const std::string& file) const {
    metafuse::detail::check(metafuse_run_write(handle(), file.c_str()));
  }
  std::string name() const { return metafuse_run_name(handle()); }
  std::size_t size() const { return metafuse_run_query_count(handle()); }
  const metafuse_run* handle() const { return handle_.get(); }

 private:
  metafuse::detail::Owned<metafuse_run> handle_;
};

class PythonQrels {
 public:
  PythonQrels() {
    metafuse_qrels* made = nullptr;
    metafuse::detail::check(metafuse_qrels_new(&made));
    handle_.reset(made);
  }
  static PythonQrels read(const std::string& file) {
    PythonQrels out;
    metafuse_qrels* made = nullptr;
    call_library([&] { return metafuse_qrels_read(file.c_str(), &made); });
    out.handle_.reset(made);
    return out;
  }
  /// {query: {document: grade}}
  void add(const py::dict& queries) {
    std::vector<const char*> query_ids;
    std::vector<const char*> document_ids;
    std::vector<std::int32_t> grades;
    for (const auto& [query, judged] : queries) {
      const char* const id = text_of(query, "the query");
      if (!py::isinstance<py::dict>(judged))
        throw usage(std::string("query ") + id + ": judgments are {document: grade}");
      for (const auto& [document, grade] : py::reinterpret_borrow<py::dict>(judged)) {
        query_ids.push_back(id);
        document_ids.push_back(text_of(document, "the document"));
        grades.push_back(grade_of(grade, id, document_ids.back()));
      }
    }
    add_texts(query_ids, document_ids, grades.data());
  }
  void add_rows(const py::object& queries, const py::object& documents, const Grades& grades) {
    std::vector<py::object> kept;
    const auto query_ids = texts_of(queries, "the query", kept);
    const auto document_ids = texts_of(documents, "the document", kept);
    if (document_ids.size() != query_ids.size() ||
        grades.size() != static_cast<py::ssize_t>(query_ids.size()))
      throw usage("the columns of a table have the same length");
    add_texts(query_ids, document_ids, grades.data());
  }
  const metafuse_qrels* handle() const { return handle_.get(); }

 private:
  static std::int32_t grade_of(py::handle grade, const char* query, const char* document) {
    const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(grade.ptr()));
    const long long value = index ? PyLong_AsLongLong(index.ptr()) : -1;
    const bool is_wrong = PyErr_Occurred() != nullptr;
    PyErr_Clear();
    if (is_wrong || value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max())
      throw usage(std::string("query ") + query + ": the grade of " + document + " is no whole number");
    return static_cast<std::int32_t>(value);
  }
  void add_texts(const std::vector<const char*>& queries, const std::vector<const char*>& documents,
                 const std::int32_t* grades) {
    metafuse::detail::check(
        metafuse_qrels_add_rows(handle_.get(), queries.data(), documents.data(), grades, queries.size()));
  }

  metafuse::detail::Owned<metafuse_qrels> handle_;
};

/// Lists of one query: (name, documents, scores or None) each.
class PythonLists {
 public:
  explicit PythonLists(const py::list& lists) {
    ids_.reserve(lists.size());
    for (const py::handle item : lists) {
      const auto list = py::reinterpret_borrow<py::tuple>(item);
      kept_.push_back(list[0]);
      ids_.push_back(texts_of(list[1], "the document", kept_));
      const double* scores = nullptr;
      if (!list[2].is_none()) {
        scores_.push_back(Doubles::ensure(list[2]));
        if (!scores_.back() || scores_.back().size() != static_cast<py::ssize_t>(ids_.back().size())) {
          PyErr_Clear();
          throw usage("list " + std::string(py::str(list[0])) + ": give one number per document as scores");
        }
        scores = scores_.back().data();
      }
      rows_.push_back({text_of(list[0], "the list"), ids_.back().data(), scores, ids_.back().size()});
    }
  }
  const metafuse_list* data() const { return rows_.data(); }
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<py::object> kept_;
  std::vector<std::vector<const char*>> ids_;
  std::vector<Doubles> scores_;
  std::vector<metafuse_list> rows_;
};

template <class Call>
std::string text_from(Call call) {
  char* text = nullptr;
  call_library([&] { return call(&text); });
  const metafuse::detail::Owned<char> owned(text);
  return owned.get();
}

/// A callable that hears how far work is, called with the interpreter's lock; signals are looked at too, so
/// that Ctrl-C ends long work.
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
  /// Runs the call; an exception of the callable is raised again.
  template <class Call>
  void run(Call work) {
    try {
      call_library(work);
    } catch (const Error&) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

 private:
  py::object callable_;
  std::exception_ptr raised_;
};

std::vector<const metafuse_run*> handles_of(const std::vector<const PythonRun*>& runs) {
  std::vector<const metafuse_run*> out;
  for (const PythonRun* const run : runs) out.push_back(run->handle());
  return out;
}

const metafuse_qrels* handle_or_null(const PythonQrels* qrels) {
  return qrels == nullptr ? nullptr : qrels->handle();
}

py::list fused_pairs(metafuse_run* owned) {
  const PythonRun run(owned);
  py::list out;
  for (std::size_t i = 0; i < metafuse_run_size(run.handle(), 0); ++i)
    out.append(
        py::make_tuple(metafuse_run_document(run.handle(), 0, i), metafuse_run_score(run.handle(), 0, i)));
  return out;
}

py::list fuse_lists(const py::list& lists, const std::string& method, const Options& options) {
  const PythonLists rows(lists);
  const metafuse::detail::OptionList given(options);
  metafuse_run* fused = nullptr;
  call_library([&] {
    return metafuse_fuse_lists(rows.data(), rows.size(), method.c_str(), given.data(), given.size(), &fused);
  });
  return fused_pairs(fused);
}

PythonRun fuse_runs(const std::vector<const PythonRun*>& runs, const std::string& method,
                    const PythonQrels* train, const Options& options) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  metafuse_run* fused = nullptr;
  call_library([&] {
    return metafuse_fuse_runs(handles.data(), handles.size(), method.c_str(), handle_or_null(train),
                              given.data(), given.size(), &fused);
  });
  return PythonRun(fused);
}

Model model_load(const std::string& file) {
  metafuse_model* model = nullptr;
  call_library([&] { return metafuse_model_read(file.c_str(), &model); });
  return Model(model);
}

py::list model_fuse_lists(const Model& model, const py::list& lists, const Options& options) {
  const PythonLists rows(lists);
  const metafuse::detail::OptionList given(options);
  metafuse_run* fused = nullptr;
  call_library([&] {
    return metafuse_model_fuse_lists(model.handle(), rows.data(), rows.size(), given.data(), given.size(),
                                     &fused);
  });
  return fused_pairs(fused);
}

PythonRun model_fuse_runs(const Model& model, const std::vector<const PythonRun*>& runs,
                          const Options& options) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  metafuse_run* fused = nullptr;
  call_library([&] {
    return metafuse_model_fuse_runs(model.handle(), handles.data(), handles.size(), given.data(),
                                    given.size(), &fused);
  });
  return PythonRun(fused);
}

std::string model_explain(const Model& model, const py::list& lists, const std::string& document) {
  const PythonLists rows(lists);
  return text_from([&](char** json) {
    return metafuse_model_explain(model.handle(), rows.data(), rows.size(), document.c_str(), json);
  });
}

Model train(const std::vector<const PythonRun*>& runs, const PythonQrels& qrels, const std::string& learner,
            const Options& options, const PythonQrels* validate, const py::object& progress) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  metafuse_model* model = nullptr;
  Listener listener(progress);
  listener.run([&] {
    return metafuse_train(handles.data(), handles.size(), qrels.handle(), handle_or_null(validate),
                          learner.c_str(), given.data(), given.size(), Listener::call, &listener, &model);
  });
  return Model(model);
}

std::string cross_validate(const std::vector<const PythonRun*>& runs, const PythonQrels& qrels,
                           const std::string& learner, const Options& options, const py::object& progress) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  char* json = nullptr;
  Listener listener(progress);
  listener.run([&] {
    return metafuse_cross_validate(handles.data(), handles.size(), qrels.handle(), learner.c_str(),
                                   given.data(), given.size(), Listener::call, &listener, &json);
  });
  const metafuse::detail::Owned<char> owned(json);
  return owned.get();
}

/// The evaluation's numbers as arrays that share its memory.
py::tuple evaluate(const PythonRun& run, const PythonQrels& qrels, const std::string& measures,
                   const Options& options) {
  const metafuse::detail::OptionList given(options);
  metafuse_evaluation* handle = nullptr;
  call_library([&] {
    return metafuse_evaluate(run.handle(), qrels.handle(), measures.c_str(), given.data(), given.size(),
                             &handle);
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

std::string compare(const std::vector<const PythonRun*>& runs, const PythonQrels& qrels,
                    const std::string& measures, const Options& options) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  return text_from([&](char** report) {
    return metafuse_compare(handles.data(), handles.size(), qrels.handle(), measures.c_str(), given.data(),
                            given.size(), report);
  });
}

std::string compare_methods(const std::vector<const PythonRun*>& runs, const PythonQrels& qrels,
                            const std::string& measures, const Options& options, const py::object& progress) {
  const auto handles = handles_of(runs);
  const metafuse::detail::OptionList given(options);
  char* report = nullptr;
  Listener listener(progress);
  listener.run([&] {
    return metafuse_compare_methods(handles.data(), handles.size(), qrels.handle(), measures.c_str(),
                                    given.data(), given.size(), Listener::call, &listener, &report);
  });
  const metafuse::detail::Owned<char> owned(report);
  return owned.get();
}

}  // namespace

PYBIND11_MODULE(_metafuse, module) {
  module.doc() = "What stands between the package metafuse and libmetafuse; not for others.";
  // metafuse/_errors.py has the classes; an error becomes the one of its status.
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const Error& error) {
      const py::object made =
          py::module_::import("metafuse._errors").attr("error_of")(error.status(), error.what());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    }
  });
  py::class_<PythonRun>(module, "Run")
      .def(py::init<const std::string&>())
      .def_static("read", &PythonRun::read)
      .def("add", &PythonRun::add)
      .def("add_rows", &PythonRun::add_rows)
      .def("to_dict", &PythonRun::to_dict)
      .def("to_rows", &PythonRun::to_rows)
      .def("write", &PythonRun::write)
      .def_property_readonly("name", &PythonRun::name)
      .def("__len__", &PythonRun::size);
  py::class_<PythonQrels>(module, "Qrels")
      .def(py::init<>())
      .def_static("read", &PythonQrels::read)
      .def("add", &PythonQrels::add)
      .def("add_rows", &PythonQrels::add_rows);
  py::class_<Model>(module, "Model")
      .def_static("load", &model_load)
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
