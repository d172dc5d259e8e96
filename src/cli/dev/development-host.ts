/** Watches an application from inside, for `filigree dev`, and serves the development page. */
import type { Guest, TakeRequest, VisitedApplication } from '../../bootstrap/guest.js'
import { fieldsOf, type Log, type LogLevel } from '../../core/log.js'
import type { PortKeeper } from '../../http/port-keeper.js'
import { isJobs } from '../open-database.js'
import { createPage } from './page.js'
import { Recorder } from './recorder.js'
import { Redactor } from './redactor.js'

export interface GuestOptions {
  readonly keeper?: PortKeeper | undefined
  /** What clients of the development page must send. */
  readonly secret: string
  readonly started: (application: VisitedApplication, url: string | undefined) => void
  /** Told of each request and each run of a job that is over; undefined: nobody wants to know. */
  readonly request?: ((request: object) => void) | undefined
  readonly job?: ((run: object) => void) | undefined
}

export class DevelopmentGuest implements Guest {
  readonly #options: GuestOptions
  readonly keeper: PortKeeper | undefined
  readonly recorder: Recorder

  constructor(options: GuestOptions) {
    this.#options = options
    this.keeper = options.keeper
    this.recorder = new Recorder(new Redactor(process.env), options)
  }

  watchLog(log: Log): Log {
    const at = (level: LogLevel) => (details: object, message: string) => {
      const { recorder } = this
      recorder.note(level, message, Object.assign({}, fieldsOf(undefined), details))
      // A terminal shows lines as they are; what programs are told is kept longer, and by others.
      if (this.#options.request === undefined) log[level](details, message)
      else {
        const seen = recorder.seen()
        log[level](recorder.redactor.details(details, seen), recorder.redactor.text(message, seen))
      }
    }
    return {
      ...{ error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') },
      isLevelEnabled: (level) => log.isLevelEnabled?.(level) ?? true,
    }
  }

  attend(application: VisitedApplication): TakeRequest {
    const { plan, state } = application
    const bodies = plan.routes.flatMap(({ classes: { body, query } }) =>
      [body, query].flatMap((one) => (one === undefined ? [] : [one.type])),
    )
    // Its hidden fields are the framework's own.
    const own = plan.records.filter((type) => !isJobs(type))
    this.recorder.redactor.learn([...own, ...bodies])
    this.recorder.watched.add(state)
    return createPage(application, this.recorder, this.#options.secret)
  }

  started(application: VisitedApplication, url: string | undefined): void {
    this.#options.started(application, url)
  }
}
