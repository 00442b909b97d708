// Model handles: reading, writing and showing models.
#include "fusion/training/registry.h"
#include "library/handles.h"

using namespace metafuse;
using namespace metafuse::library;

int metafuse_model_read(const char* file, metafuse_model** model) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(file, "file"));
    TRY_VOID(check_given(model, "model"));
    TRY(auto read, fusion::read_model(file));
    *model = model_handle(std::move(read)).release();
    return {};
  });
}

int metafuse_model_parse(const char* text, metafuse_model** model) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(text, "text"));
    TRY_VOID(check_given(model, "model"));
    TRY(auto read, fusion::parse_model(text, "model"));
    *model = model_handle(std::move(read)).release();
    return {};
  });
}

int metafuse_model_write(const metafuse_model* model, const char* file) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(file, "file"));
    return fusion::write_model(file, model->model);
  });
}

int metafuse_model_text(const metafuse_model* model, char** text) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(text, "text"));
    *text = as_owned(fusion::model_text(model->model));
    return {};
  });
}

int metafuse_model_show(const metafuse_model* model, char** text) {
  return guarded([&]() -> Result<void> {
    TRY_VOID(check_given(model, "model"));
    TRY_VOID(check_given(text, "text"));
    *text = as_owned(model->model.ranker->describe(model->model.features));
    return {};
  });
}

void metafuse_model_free(metafuse_model* model) {
  delete model;
}

const char* metafuse_model_learner(const metafuse_model* model) {
  return model == nullptr ? nullptr : model->model.learner.c_str();
}

size_t metafuse_model_list_count(const metafuse_model* model) {
  return model == nullptr ? 0 : model->lists.size();
}

const char* metafuse_model_list_name(const metafuse_model* model, size_t list) {
  return model == nullptr || list >= model->lists.size() ? nullptr : model->lists[list].c_str();
}
