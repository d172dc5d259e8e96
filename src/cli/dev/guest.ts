/** Watches an application from inside, for `filigree dev`, and serves the development page. */
import type { Guest, TakeRequest, VisitedApplication } from '../../bootstrap/guest.js'
import { fieldsOf, type Log, type LogLevel } from '../../core/log.js'
import { createPage } from './page.js'
import { Recorder } from './recorder.js'

export interface GuestOptions {
  readonly started: (application: VisitedApplication, url: string | undefined) => void
  /** Told of each request that is over. */
  readonly request: ((request: object) => void) | undefined
}

export class DevelopmentGuest implements Guest {
  readonly #options: GuestOptions
  readonly recorder: Recorder

  constructor(options: GuestOptions) {
    this.#options = options
    this.recorder = new Recorder(options.request)
  }

  watchLog(log: Log): Log {
    const at = (level: LogLevel) => (details: object, message: string) => {
      this.recorder.note(level, message, Object.assign({}, fieldsOf(undefined), details))
      log[level](details, message)
    }
    return {
      ...{ error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') },
      isLevelEnabled: (level) => log.isLevelEnabled?.(level) ?? true,
    }
  }

  attend(application: VisitedApplication): TakeRequest {
    this.recorder.watched.add(application.state)
    return createPage(application, this.recorder)
  }

  started(application: VisitedApplication, url: string | undefined): void {
    this.#options.started(application, url)
  }
}
