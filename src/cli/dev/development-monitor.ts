/** Records an application's requests and log in the process of `filigree dev`, and serves the development page. */
import type { AttachedHost, DevelopmentHost, HostedApplication } from '../../bootstrap/cli-hooks.js'
import { fieldsOf, type Log, type LogLevel } from '../../core/log.js'
import type { PortHandover } from '../../http/server.js'
import { isJobRecord } from '../load-application.js'
import { createPage } from './page.js'
import { Recorder } from './recorder.js'
import { Redactor } from './redactor.js'

interface MonitorOptions {
  readonly portHandover?: PortHandover | undefined
  /** The secret that clients of the development page must send. */
  readonly secret: string
  readonly started: (application: HostedApplication, url: string | undefined) => void
  /** Called after each request and each job run. If set, the log is redacted, because programs read it. */
  readonly request?: ((request: object) => void) | undefined
  readonly job?: ((run: object) => void) | undefined
}

export class DevelopmentMonitor implements DevelopmentHost {
  readonly #options: MonitorOptions
  readonly portHandover: PortHandover | undefined
  readonly recorder: Recorder

  constructor(options: MonitorOptions) {
    this.#options = options
    this.portHandover = options.portHandover
    this.recorder = new Recorder(new Redactor(process.env), options)
  }

  watchLog(log: Log): Log {
    const logAt = (level: LogLevel) => (details: object, message: string) => {
      const { recorder } = this
      recorder.recordLine(level, message, Object.assign({}, fieldsOf(undefined), details))
      // A terminal shows complete lines. Programs can store the log, so it is redacted for them.
      if (this.#options.request === undefined) log[level](details, message)
      else {
        const secrets = recorder.currentSecrets()
        log[level](
          recorder.redactor.details(details, secrets),
          recorder.redactor.text(message, secrets),
        )
      }
    }
    return {
      error: logAt('error'),
      warn: logAt('warn'),
      info: logAt('info'),
      debug: logAt('debug'),
      isLevelEnabled: (level) => log.isLevelEnabled?.(level) ?? true,
    }
  }

  attach(application: HostedApplication): AttachedHost {
    const { plan, state } = application
    const bodies = plan.routes.flatMap(({ classes: { body, query } }) =>
      [body, query].flatMap((one) => (one === undefined ? [] : [one.type])),
    )
    // The hidden fields of jobs belong to the framework and are not secrets of the application.
    const records = plan.records.filter((type) => !isJobRecord(type))
    this.recorder.redactor.learn([...records, ...bodies])
    this.recorder.watched.add(state)
    return createPage(application, this.recorder, this.#options.secret)
  }

  started(application: HostedApplication, url: string | undefined): void {
    this.#options.started(application, url)
  }
}
