/** Records an application's requests and log in the process of `filigree dev`, and serves the development page. */
import type { AttachedHost, DevelopmentHost, HostedApplication } from '../../bootstrap/cli-hooks.js'
import { fieldsOf, type Log, type LogLevel } from '../../core/log.js'
import type { PortHandover } from '../../http/listener.js'
import { learnSecrets } from '../../bootstrap/learn-secrets.js'
import { toLoggableError, withLoggableErrors } from '../../serving/redaction/loggable-error.js'
import { createPage } from './page.js'
import { Recorder } from './recorder.js'
import { Redactor, type Secrets } from '../../serving/redaction/redactor.js'

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
          redactDetails(details, recorder.redactor, secrets),
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
    learnSecrets(this.recorder.redactor, application.plan)
    this.recorder.watched.add(application.state)
    return createPage(application, this.recorder, this.#options.secret)
  }

  started(application: HostedApplication, url: string | undefined): void {
    this.#options.started(application, url)
  }
}

/** Redacts the details of a log line. Errors remain `Error` objects. */
function redactDetails(details: object, redactor: Redactor, secrets: Secrets): object {
  const shown = withLoggableErrors(details, (error) => toLoggableError(error, redactor, secrets))
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Error ? value : redactor.property(name, value, secrets),
    ]),
  )
}
