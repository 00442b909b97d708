#pragma once

// Keeps an index up to date. Its table `sources` stores every document as it was indexed, with the number of
// the file it came from; number 0 stands for documents without one. When a document has changed or
// disappeared, this tells from which lists of words to remove it. `files` stores how each file was when it
// was read; a file that is still the same need not be read again. `left_out` stores what of such a file is
// not in the index.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/sqlite_database.h"
#include "fetchers/engines/index/added_documents.h"
#include "fetchers/engines/index/document_files.h"
#include "fetchers/engines/index/document_writer.h"
#include "fetchers/engines/index/index_shape.h"
#include "fetchers/engines/index/list_builder.h"
#include "fetchers/engines/index/local_engine.h"

namespace metafuse::fetchers {

/// Indexes that older versions wrote lack this table until their first update.
inline constexpr const char* kCreateLeftOut =
    "CREATE TABLE IF NOT EXISTS left_out(file INTEGER PRIMARY KEY, why TEXT NOT NULL);";

/// The version of the index at `path`, if there is one and this program writes another; else empty.
std::string other_version(const std::string& path);

/// The lists that an index with these options has, each once.
std::vector<WordKind> wanted_kinds(const IndexOptions& options);

/// The document's title and text, of which an endpoint makes a vector.
std::string text_of(const SourceDocument& document);

/// What the options say about the writing of vectors, without the documents.
VectorWriting vector_writing(const IndexOptions& options);

/// What a report says of an added document that does not go with the others of an index.
LeftOutFile left_out_change(const AddedDocuments::Change& change, const std::string& why);

/// Reads the documents of all files and folders; `take` is not called after an interruption.
///
/// in:     others - addresses of documents that are left out, because programs added or removed them
/// out:    as read_documents()
/// errors: those of read_documents(); try_again: interrupted
Result<ReadReport> read_all(const std::vector<std::string>& paths, const DocumentFileOptions& files,
                            const IndexOptions& options, const std::set<std::string>& others,
                            const TakeDocument& take);

/// Brings an index up to date. `path` is a copy, with which the caller then replaces the index.
///
/// in:     added - what programs added and removed: all of it, or with options.follows_added what is new
/// out:    nullopt when the index cannot be updated and must be rebuilt
/// errors: as build_local_index
Result<std::optional<IndexReport>> update_index(const std::string& path,
                                                const std::vector<std::string>& documents,
                                                const std::vector<AddedDocuments::Change>& added,
                                                const IndexOptions& options);

}  // namespace metafuse::fetchers
