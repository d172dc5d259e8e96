/** The message of `filigree:tool`, of which traces are made. It never contains arguments. */
import type { WatchedWork } from './watched.js'

/** A call by an agent: `filigree:tool`, and the tracing channel of the same name. */
export interface ToolEvent extends WatchedWork {
  readonly tool: string
  /** `TicketController.show`. */
  readonly route: string
}
