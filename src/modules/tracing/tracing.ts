/**
 * `filigree/tracing`: makes OpenTelemetry spans from the framework's events, with `@opentelemetry/api` alone. The
 * application starts an SDK of its choice before `bootstrap`; without one nothing is traced, and the log says so.
 * Sources: W3C Trace Context; OpenTelemetry, Semantic Conventions for HTTP spans and for database spans.
 */
import { createModule, rejectUnknownOptions } from '../../index.js'
import { Tracing } from './spans.js'

/** Makes spans of requests, gates, handlers, statements and GraphQL operations. */
export const tracing = createModule(function tracing(...none: []) {
  const [given]: readonly unknown[] = none
  return {
    problems: rejectUnknownOptions(given, [], 'tracing'),
    providers: [Tracing],
    cors: { allowedHeaders: ['traceparent', 'tracestate'] },
  }
})
