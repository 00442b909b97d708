#pragma once

// Converts runs, judgments and lists between Python's types and the handles of libmetafuse.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <metafuse/methods.h>
#include <metafuse/train.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace metafuse_python {

namespace py = pybind11;

using metafuse::Error;
using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Ranks = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Grades = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

/// Calls the library without the interpreter's lock. The error message is read before the lock is taken
/// again, because it belongs to this thread.
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

/// A run that can be filled from, and read as, Python objects.
class PythonRun {
 public:
  explicit PythonRun(const std::string& name);
  explicit PythonRun(metafuse_run* owned) : handle_(owned) {}
  static PythonRun read(const std::string& file);

  /// {query: {document: score}}, or {query: [document, ...]}
  void add(const py::dict& queries);
  void add_rows(const py::object& queries, const py::object& documents, const std::optional<Doubles>& scores,
                const std::optional<Ranks>& ranks);
  /// {query: {document: score}}, each best first.
  py::dict to_dict() const;
  /// The columns qid, docno, rank, score.
  py::tuple to_rows() const;
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
  PythonQrels();
  static PythonQrels read(const std::string& file);

  /// {query: {document: grade}}
  void add(const py::dict& queries);
  void add_rows(const py::object& queries, const py::object& documents, const Grades& grades);
  const metafuse_qrels* handle() const { return handle_.get(); }

 private:
  void add_texts(const std::vector<const char*>& queries, const std::vector<const char*>& documents,
                 const std::int32_t* grades);

  metafuse::detail::Owned<metafuse_qrels> handle_;
};

/// Lists of one query, each as (name, documents, scores or None).
class PythonLists {
 public:
  explicit PythonLists(const py::list& lists);
  const metafuse_list* data() const { return rows_.data(); }
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<py::object> kept_;
  std::vector<std::vector<const char*>> ids_;
  std::vector<Doubles> scores_;
  std::vector<metafuse_list> rows_;
};

}  // namespace metafuse_python
