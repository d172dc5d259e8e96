/** The writer of a client's request. Nothing is stored after the request's timeout. */
import { ServerRequest } from '../../http/server-request.js'
import type { Database } from '../database.js'
import { CallerWriter } from '../policy/caller-writer.js'
import { ClientView } from '../policy/client-view.js'
import type { Caller } from '../rights/caller.js'

/** @param view the caller's view, if it was created for reads before */
export function clientWriter(
  database: Database,
  caller: Caller,
  view = new ClientView({ context: database.context, caller, log: database.log }),
): CallerWriter {
  const request =
    caller.request instanceof ServerRequest ? caller.request : database.startingRequest
  return new CallerWriter({
    source: database.writesFor(request),
    view,
    // The caller's visible rows are looked up before and after a write. They must not change in between, even if no hook
    // requires that.
    begin: (work, isolation = 'repeatable read') =>
      database.transaction(work, { isolation }, request),
  })
}
