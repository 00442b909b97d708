"""Stand-ins for frameworks that are not installed here: the classes that the adapters derive from and call, each of which
checks the signatures that its framework documents. They show that an adapter has the right form, not that it works with
every version of the framework."""
import dataclasses
import inspect
import sys
import types
import typing


def _module(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)
    return module


def _check(method, *parameters, keywords=()):
    """Requires positional parameters of these names and keyword-only ones, all others having defaults."""
    signature = inspect.signature(method).parameters.values()
    positional = [p.name for p in signature if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    only = [p.name for p in signature if p.kind == p.KEYWORD_ONLY]
    assert positional == ["self", *parameters], (method, positional)
    assert only == list(keywords), (method, only)


class Fields:
    """As pydantic's BaseModel: the annotated members are the keywords of the constructor, and no others."""

    def __init__(self, **values):
        known = {}
        for base in reversed(type(self).__mro__):
            known.update(getattr(base, "__annotations__", {}))
        for name in values:
            assert name in known, f"unknown field {name}"
        for name in known:
            assert name in values or hasattr(type(self), name), f"field {name} is required"
            setattr(self, name, values.get(name, getattr(type(self), name, None)))


def langchain():
    class Document(Fields):
        page_content: str
        metadata: dict = {}
        id: typing.Optional[str] = None

    class RunManager:
        def __init__(self):
            self.children = []

        def get_child(self, tag=None):
            self.children.append(tag)
            return [tag]

        def get_sync(self):
            return self

    class BaseRetriever(Fields):
        def invoke(self, query, config=None):
            _check(type(self)._get_relevant_documents, "query", keywords=["run_manager"])
            return self._get_relevant_documents(query, run_manager=RunManager())

        async def ainvoke(self, query, config=None):
            _check(type(self)._aget_relevant_documents, "query", keywords=["run_manager"])
            return await self._aget_relevant_documents(query, run_manager=RunManager())

        async def _aget_relevant_documents(self, query, *, run_manager):
            return self._get_relevant_documents(query, run_manager=run_manager)

    _module("langchain_core")
    _module("langchain_core.callbacks", CallbackManagerForRetrieverRun=RunManager,
            AsyncCallbackManagerForRetrieverRun=RunManager)
    _module("langchain_core.documents", Document=Document)
    _module("langchain_core.retrievers", BaseRetriever=BaseRetriever)
    return Document, BaseRetriever


def llama_index():
    class MetadataMode:
        EMBED = "embed"
        NONE = "none"

    class BaseNode(Fields):
        id_: str
        metadata: dict = {}
        excluded_embed_metadata_keys: list = []
        excluded_llm_metadata_keys: list = []

        @property
        def node_id(self):
            return self.id_

        def model_copy(self, *, update):
            copy = object.__new__(type(self))
            copy.__dict__.update(self.__dict__)
            for name, value in update.items():
                assert name in self.__dict__, f"unknown field {name}"
                setattr(copy, name, value)
            return copy

    class TextNode(BaseNode):
        text: str = ""

        def get_content(self, metadata_mode=None):
            assert metadata_mode in (MetadataMode.EMBED, MetadataMode.NONE)
            return self.text

    class NodeWithScore(Fields):
        node: TextNode
        score: typing.Optional[float] = None

    class QueryBundle:
        def __init__(self, query_str):
            self.query_str = query_str

    class BaseRetriever:
        def __init__(self, callback_manager=None, object_map=None, objects=None, verbose=False):
            pass

        def retrieve(self, query):
            _check(type(self)._retrieve, "query_bundle")
            return self._retrieve(query if isinstance(query, QueryBundle) else QueryBundle(query))

        async def aretrieve(self, query):
            _check(type(self)._aretrieve, "query_bundle")
            return await self._aretrieve(query if isinstance(query, QueryBundle) else QueryBundle(query))

        async def _aretrieve(self, query_bundle):
            return self._retrieve(query_bundle)

    class BaseNodePostprocessor(Fields):
        def postprocess_nodes(self, nodes, query_bundle=None, query_str=None):
            _check(type(self)._postprocess_nodes, "nodes", "query_bundle")
            return self._postprocess_nodes(nodes, QueryBundle(query_str) if query_str else query_bundle)

    for name in ("llama_index", "llama_index.core", "llama_index.core.postprocessor"):
        _module(name)
    _module("llama_index.core.postprocessor.types", BaseNodePostprocessor=BaseNodePostprocessor)
    _module("llama_index.core.retrievers", BaseRetriever=BaseRetriever)
    _module("llama_index.core.schema", BaseNode=BaseNode, MetadataMode=MetadataMode, NodeWithScore=NodeWithScore, QueryBundle=QueryBundle,
            TextNode=TextNode)
    return NodeWithScore, TextNode, BaseRetriever


def haystack():
    @dataclasses.dataclass
    class Document:
        id: str
        content: str = ""
        meta: dict = dataclasses.field(default_factory=dict)
        score: typing.Optional[float] = None

    class Component:
        def __call__(self, made):
            run = inspect.signature(made.run)
            assert any(p.kind == p.VAR_KEYWORD for p in run.parameters.values()), "sockets need **kwargs in run"
            assert made.run.outputs, "run names its outputs"
            return made

        def set_input_type(self, instance, name, kind, default=inspect.Parameter.empty):
            assert name.isidentifier() and name not in inspect.signature(type(instance).run).parameters
            instance.__dict__.setdefault("sockets", {})[name] = kind

        def output_types(self, **outputs):
            def note(run):
                run.outputs = outputs
                return run

            return note

    def default_to_dict(instance, **parameters):
        constructor = inspect.signature(type(instance).__init__).parameters
        assert all(name in constructor for name in parameters)
        return {"type": f"{type(instance).__module__}.{type(instance).__name__}", "init_parameters": parameters}

    def default_from_dict(cls, data):
        assert data["type"] == f"{cls.__module__}.{cls.__name__}"
        return cls(**data["init_parameters"])

    _module("haystack", Document=Document, component=Component(), default_to_dict=default_to_dict,
            default_from_dict=default_from_dict)
    return Document


def pyterrier():
    class Transformer:
        def __call__(self, frame):
            return self.transform(frame)

        def transform(self, inp):
            raise NotImplementedError

    class Estimator(Transformer):
        pass

    _module("pyterrier", Transformer=Transformer, Estimator=Estimator)
    return Transformer, lambda made: (_check(made.transform, "inp"), _check(
        made.fit, "topics_or_res_tr", "qrels_tr", "topics_or_res_va", "qrels_va"))
