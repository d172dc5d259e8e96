/** The part of OpenTelemetry's API that is used; only this file imports the package. */
export {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  context,
  createContextKey,
  createTraceState,
  isSpanContextValid,
  propagation,
  trace,
  type Context,
  type ContextManager,
  type Span,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
} from '@opentelemetry/api'
