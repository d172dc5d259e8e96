/** `filigree/mail`: sends mail by a job, in the current transaction. Outside production, mail is caught: in the log, and in tests in `desk.mail`. */
import { createHash } from 'node:crypto'
import {
  missingPackage,
  type MissingPackage,
  ApplicationState,
  Clock,
  createModule,
  Module,
  declareOptions,
  option,
  type Lifecycle,
  type OptionsOf,
  resetState,
} from '../../index.js'
import { Job, Jobs, type AddedJob, type AddOptions, type RunningJob } from '../jobs/jobs.js'
import { readAddress, type ParsedAddress, StoredMail, toStoredMail, type Mail } from './message.js'

/** A transport of nodemailer, or a custom object. */
export interface MailTransport {
  sendMail(message: object): Promise<unknown>
  close?(): void
}

/** The part of the package that is used. */
interface Package {
  readonly createTransport: (options: object) => MailTransport
}

/** Reported if the package is not installed. */
const nodemailer: MissingPackage = {
  name: 'nodemailer',
  code: 'MAIL_DRIVER_MISSING',
  message: 'mail: the package nodemailer is not installed.',
  remedy: 'Run: npm install nodemailer',
}

/** Milliseconds. */
const [connectionTimeoutMs, socketTimeoutMs] = [10_000, 30_000]

/**
 * @param address `smtp://user:password@host:587`, `smtps://…`
 * @throws {DeclarationError} the package is missing
 */
async function openTransport(address: string): Promise<MailTransport> {
  const { createTransport } = await load()
  return createTransport({
    url: address,
    pool: true,
    maxConnections: 5,
    connectionTimeout: connectionTimeoutMs,
    greetingTimeout: connectionTimeoutMs,
    socketTimeout: socketTimeoutMs,
  })
}

async function load(): Promise<Package> {
  try {
    // Imported by a variable, so that the package is not needed to compile.
    const loaded = (await import(nodemailer.name)) as Package & { readonly default?: Package }
    return loaded.default ?? loaded
  } catch (cause) {
    throw missingPackage(nodemailer, cause)
  }
}

export type { Address, Attachment, Mail } from './message.js'

const mailOptions = declareOptions({
  /** `smtp://user:password@host:587`, `smtps://…`, or an object with `sendMail`. Required in production. */
  transport: option.of<string | MailTransport>(
    isTransport,
    "Write 'smtp://user:password@host:587', or an object with sendMail.",
  ),
  /** The default sender: `Help desk <desk@example.com>`. */
  from: option.of<string>(
    (value) => readAddress(value) !== undefined,
    "Write 'desk@example.com' or 'Help desk <desk@example.com>'.",
  ),
  /** True: mail is logged and stored for tests, but not sent. Default: true outside production. */
  catch: option.flag(),
})

export interface MailOptions extends OptionsOf<typeof mailOptions> {}

/** A mail that was caught. */
export interface CaughtMail extends Omit<Mail, 'to' | 'cc' | 'bcc' | 'attachments'> {
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
}

/** Sends mail. Inject it: `static inject = [Mailer]`. */
export class Mailer {
  readonly #jobs: Jobs
  readonly #from: string | undefined

  /** Provided by `mail()`. */
  constructor(jobs: Jobs, from: string | undefined) {
    this.#jobs = jobs
    this.#from = from
  }

  /**
   * Adds the job that sends the mail. It is sent once the open transaction is committed, and retried until the server accepts it. A mail may arrive twice, with the
   * same `Message-ID`.
   *
   * @throws {TypeError} sender, receiver or content is missing, or a part is malformed or too large
   */
  async send(mail: Mail, options: AddOptions = {}): Promise<AddedJob> {
    return this.#jobs.add(MailJobs, 'send', toStoredMail(mail, this.#from), options)
  }
}

/** The number of caught mails that a process stores. */
const maxCaught = 1000

export class MailJobs implements Lifecycle {
  static readonly inject = [ApplicationState, Clock, 'filigree.mail.options']
  readonly caught: CaughtMail[] = []
  readonly #state: ApplicationState
  readonly #options: MailOptions
  readonly #catches: boolean
  #transport: Promise<MailTransport> | undefined

  constructor(state: ApplicationState, clock: Clock, options: MailOptions) {
    this.#state = state
    this.#options = options
    // In tests no mail is sent, whatever NODE_ENV says.
    this.#catches = options.catch ?? (!state.production || clock.isMoved)
  }

  @Job({
    name: 'mail.send',
    body: StoredMail,
    secret: true,
    retries: 10,
    backoff: '30s',
    timeout: '2m',
  })
  async send(mail: StoredMail, job: RunningJob): Promise<void> {
    if (this.#catches) {
      this.#catchMail(mail)
      return
    }
    const { transport } = this.#options
    this.#transport ??=
      typeof transport === 'object' ? Promise.resolve(transport) : openTransport(transport ?? '')
    const transporter = await this.#transport
    const content: object = mail
    await transporter.sendMail({
      ...content,
      from: readAddress(mail.from),
      replyTo: readAddress(mail.replyTo),
      to: readAll(mail.to),
      cc: readAll(mail.cc),
      bcc: readAll(mail.bcc),
      // The same for each attempt, so that receivers can detect duplicates.
      messageId: messageIdOf(mail, job.id),
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }

  [resetState](): void {
    this.caught.length = 0
  }

  async onStop(): Promise<void> {
    const { transport } = this.#options
    if (typeof transport === 'object' || this.#transport === undefined) return
    ;(await this.#transport.catch(() => undefined))?.close?.()
  }

  #catchMail(mail: StoredMail): void {
    const { from, to, cc, bcc, subject, text, html, replyTo, headers, attachments = [] } = mail
    const optional = {
      ...(text === undefined ? {} : { text }),
      ...(html === undefined ? {} : { html }),
      ...(replyTo === undefined ? {} : { replyTo }),
      ...(headers === undefined ? {} : { headers }),
    }
    this.caught.push({ from, to, cc, bcc, subject, ...optional })
    if (this.caught.length > maxCaught) this.caught.shift()
    // The text is not logged: it may contain a sign-in link.
    const details = { to, subject, attachments: attachments.length }
    this.#state.log.info(details, 'a mail was caught and not sent, because this is not production')
  }
}

/** Registers the job class if the application imports this file but not `mail()`. */
@Module({ providers: [MailJobs] })
class MailModule {}

const withoutJobs = {
  code: 'MAIL_WITHOUT_JOBS',
  message: 'mail: it needs filigree/jobs, which no module imports.',
  remedy: "Write imports: [jobs({ work: true }), mail(…)], jobs from 'filigree/jobs'.",
}

function findTransportProblems({ catch: catches, transport }: MailOptions, production: boolean) {
  const code = 'INVALID_OPTION'
  if (catches === true && production) {
    const message = 'mail: catch: true prevents all mail, also in production.'
    return [{ code, message, remedy: 'Remove catch: outside production, mail is caught anyway.' }]
  }
  if (transport !== undefined || (catches ?? !production)) return []
  const remedy = "Write mail({ transport: 'smtp://user:password@host:587', from })."
  return [{ code, message: 'mail: transport is required in production.', remedy }]
}

/** Sends mail: `@Module({ imports: [jobs({ work: true }), mail({ transport, from })] })`. */
export const mail = createModule(function mail(options: MailOptions = {}) {
  return {
    problems: mailOptions.findProblems(options, 'mail'),
    check: (providers: readonly unknown[], { production }: { readonly production: boolean }) => [
      ...(providers.includes(Jobs) ? [] : [withoutJobs]),
      ...findTransportProblems(options, production),
    ],
    imports: [MailModule],
    packages: typeof options.transport === 'string' ? [nodemailer] : [],
    providers: [
      { provide: 'filigree.mail.options', use: options },
      { provide: Mailer, make: (jobs: Jobs) => new Mailer(jobs, options.from), inject: [Jobs] },
      { provide: 'filigree.mail', make: (jobs: MailJobs) => jobs, inject: [MailJobs] },
    ],
  }
})

function readAll(list: readonly string[]): (ParsedAddress | undefined)[] {
  return list.map(readAddress)
}

function messageIdOf({ from, subject, to }: StoredMail, id: number): string {
  const domain = /@([^\s>@]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  const hash = createHash('sha256')
    .update(JSON.stringify([from, to, subject]))
    .digest('hex')
  return `<${id}.${hash.slice(0, 24)}@${domain}>`
}

function isTransport(value: unknown): boolean {
  if (typeof value === 'string') return /^smtps?:\/\/./.test(value)
  return typeof (value as Partial<MailTransport> | null)?.sendMail === 'function'
}
