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
using metafuse::Qrels;
using metafuse::Run;
using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Ranks = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Grades = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

/// Calls the library without the interpreter's lock. An error has its message already, which belongs to this
/// thread, when the lock is taken again.
template <class Call>
auto without_lock(Call call) {
  const py::gil_scoped_release released;
  return call();
}

/// in: queries - {query: {document: score}}, or {query: [document, ...]}
void add_lists(Run& run, const py::dict& queries);
void add_rows(Run& run, const py::object& queries, const py::object& documents,
              const std::optional<Doubles>& scores, const std::optional<Ranks>& ranks);
/// {query: {document: score}}, each best first.
py::dict dict_of(const Run& run);
/// The columns qid, docno, rank, score.
py::tuple rows_of(const Run& run);

/// in: queries - {query: {document: grade}}
void add_judgments(Qrels& qrels, const py::dict& queries);
void add_judged_rows(Qrels& qrels, const py::object& queries, const py::object& documents,
                     const Grades& grades);

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
