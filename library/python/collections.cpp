#include "library/python/collections.h"

#include <limits>

#include <pybind11/stl.h>

namespace metafuse_python {
namespace {

Error usage(const std::string& text) {
  return {METAFUSE_USAGE, text.c_str()};
}

/// The text of a str, not copied; valid as long as the object lives.
const char* text_of(py::handle object, const char* what) {
  Py_ssize_t size = 0;
  const char* const text =
      PyUnicode_Check(object.ptr()) ? PyUnicode_AsUTF8AndSize(object.ptr(), &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    throw usage(std::string(what) + " " + std::string(py::repr(object)) + " is not a str of valid UTF-8");
  }
  if (std::char_traits<char>::length(text) != static_cast<std::size_t>(size))
    throw usage(std::string(what) + " " + std::string(py::repr(object)) + " contains a zero byte");
  return text;
}

double number_of(py::handle object, const char* query, const char* document) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value != -1.0 || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  throw usage(std::string("query ") + query + ": the score of " + document + " is not a number");
}

/// The texts of a list, tuple or other sequence; `kept` keeps their owners alive.
std::vector<const char*> texts_of(const py::object& items, const char* what, std::vector<py::object>& kept) {
  kept.push_back(py::reinterpret_steal<py::object>(PySequence_Fast(items.ptr(), "give a sequence")));
  const py::object& sequence = kept.back();
  if (!sequence) throw py::error_already_set();
  PyObject* const* const first = PySequence_Fast_ITEMS(sequence.ptr());
  std::vector<const char*> out(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr())));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = text_of(first[i], what);
  return out;
}

/// Adds one query's {document: score} or [document, ...] to a run.
void add_list(metafuse_run* run, const char* query, const py::handle& list) {
  std::vector<const char*> documents;
  std::vector<double> scores;
  std::vector<py::object> kept;
  const bool is_scored = py::isinstance<py::dict>(list);
  if (is_scored) {
    documents.reserve(py::len(list));
    scores.reserve(py::len(list));
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

std::int32_t grade_of(py::handle grade, const char* query, const char* document) {
  const bool is_int = PyLong_Check(grade.ptr());
  const py::object index =
      is_int ? py::object() : py::reinterpret_steal<py::object>(PyNumber_Index(grade.ptr()));
  const PyObject* const whole = is_int ? grade.ptr() : index.ptr();
  const long long value = whole != nullptr ? PyLong_AsLongLong(const_cast<PyObject*>(whole)) : -1;
  const bool is_wrong = value == -1 && PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (is_wrong || value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max())
    throw usage(std::string("query ") + query + ": the grade of " + document + " is not a whole number");
  return static_cast<std::int32_t>(value);
}

void add_texts(Qrels& qrels, const std::vector<const char*>& queries,
               const std::vector<const char*>& documents, const std::int32_t* grades) {
  metafuse::detail::check(
      metafuse_qrels_add_rows(qrels.handle(), queries.data(), documents.data(), grades, queries.size()));
}

}  // namespace

void add_lists(Run& run, const py::dict& queries) {
  for (const auto& [query, list] : queries) add_list(run.handle(), text_of(query, "the query"), list);
}

void add_rows(Run& run, const py::object& queries, const py::object& documents,
              const std::optional<Doubles>& scores, const std::optional<Ranks>& ranks) {
  std::vector<py::object> kept;
  const auto query_ids = texts_of(queries, "the query", kept);
  const auto document_ids = texts_of(documents, "the document", kept);
  const auto count = static_cast<py::ssize_t>(query_ids.size());
  if (document_ids.size() != query_ids.size() || (scores && scores->size() != count) ||
      (ranks && ranks->size() != count))
    throw usage("the columns of a table have the same length");
  metafuse::detail::check(metafuse_run_add_rows(run.handle(), query_ids.data(), document_ids.data(),
                                                scores ? scores->data() : nullptr,
                                                ranks ? ranks->data() : nullptr, query_ids.size()));
}

py::dict dict_of(const Run& run) {
  py::dict out;
  for (std::size_t q = 0; q < run.query_count(); ++q) {
    py::dict list;
    for (const auto& [document, score] : run.list(q)) {
      const py::str id(document);
      const py::float_ value(score);
      if (PyDict_SetItem(list.ptr(), id.ptr(), value.ptr()) != 0) throw py::error_already_set();
    }
    out[py::str(run.query(q))] = std::move(list);
  }
  return out;
}

py::tuple rows_of(const Run& run) {
  std::size_t count = 0;
  for (std::size_t q = 0; q < run.query_count(); ++q) count += metafuse_run_size(run.handle(), q);
  const py::array queries = py::module_::import("numpy").attr("empty")(count, "object");
  const py::array documents = queries.attr("copy")();
  py::array_t<std::int64_t> ranks(static_cast<py::ssize_t>(count));
  py::array_t<double> scores(static_cast<py::ssize_t>(count));
  const auto put = [](const py::array& array, std::size_t row, const py::object& value) {
    PyObject*& place = static_cast<PyObject**>(const_cast<void*>(array.data()))[row];
    Py_XDECREF(place);
    place = py::object(value).release().ptr();
  };
  std::size_t row = 0;
  for (std::size_t q = 0; q < run.query_count(); ++q) {
    const py::str query(run.query(q));
    std::int64_t rank = 0;
    for (const auto& [document, score] : run.list(q)) {
      put(queries, row, query);
      put(documents, row, py::str(document));
      ranks.mutable_data()[row] = ++rank;
      scores.mutable_data()[row++] = score;
    }
  }
  return py::make_tuple(queries, documents, ranks, scores);
}

void add_judgments(Qrels& qrels, const py::dict& queries) {
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
  add_texts(qrels, query_ids, document_ids, grades.data());
}

void add_judged_rows(Qrels& qrels, const py::object& queries, const py::object& documents,
                     const Grades& grades) {
  std::vector<py::object> kept;
  const auto query_ids = texts_of(queries, "the query", kept);
  const auto document_ids = texts_of(documents, "the document", kept);
  if (document_ids.size() != query_ids.size() || grades.size() != static_cast<py::ssize_t>(query_ids.size()))
    throw usage("the columns of a table have the same length");
  add_texts(qrels, query_ids, document_ids, grades.data());
}

PythonLists::PythonLists(const py::list& lists) {
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

}  // namespace metafuse_python
