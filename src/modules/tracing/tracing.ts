/**
 * `filigree/tracing`: OpenTelemetry's spans of what the framework tells of its work, by `@opentelemetry/api` alone. The
 * application starts the SDK that it likes before `bootstrap`; without one, nothing is done and the log says so.
 * Sources: W3C Trace Context; OpenTelemetry, Semantic Conventions for HTTP spans and for database spans.
 */
import { createModule } from '../../index.js'
import { Tracing } from './spans.js'

/** Makes spans of requests, gates, handlers, statements and GraphQL operations. */
export const tracing = createModule(function tracing() {
  return { providers: [Tracing] }
})
