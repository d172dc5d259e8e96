/**
 * `filigree/mail`: mail that is sent by a job, in the transaction that asks for it. Outside production it is caught: in the
 * log, and in tests in `desk.mail`. Source: decisions, "Third storey: jobs", Face.
 */

import { createHash } from 'node:crypto'
import {
  missingPackage,
  type MissingPackage,
  ApplicationState,
  Clock,
  createModule,
  DeclarationError,
  Module,
  rejectUnknownOptions,
  type Lifecycle,
  type Problem,
  resetState,
} from '../../index.js'
import { Job, Jobs, type AddedJob, type AddOptions, type RunningJob } from '../jobs/jobs.js'
import { readAddress, type ParsedAddress, StoredMail, toStoredMail, type Mail } from './message.js'

/** Sends mail by nodemailer, which an application installs; only this file imports it. Source: nodemailer, SMTP transport. */

/** What sends: a transport of nodemailer, or an object of one's own. */
export interface MailTransport {
  sendMail(message: object): Promise<unknown>
  close?(): void
}

/** The part of the package that is used. */
interface Package {
  readonly createTransport: (options: object) => MailTransport
}

/** What is reported where it is not installed. */
const nodemailer: MissingPackage = {
  name: 'nodemailer',
  code: 'MAIL_DRIVER_MISSING',
  message: 'mail: the package nodemailer is missing, which sends mail.',
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
    ...{ url: address, pool: true, maxConnections: 5 },
    ...{
      connectionTimeout: connectionTimeoutMs,
      greetingTimeout: connectionTimeoutMs,
      socketTimeout: socketTimeoutMs,
    },
  })
}

async function load(): Promise<Package> {
  try {
    // By a variable, so that the package is not needed to compile.
    const loaded = (await import(nodemailer.name)) as Package & { readonly default?: Package }
    return loaded.default ?? loaded
  } catch (cause) {
    throw missingPackage(nodemailer, cause)
  }
}

export type { Address, Attachment, Mail } from './message.js'

export interface MailOptions {
  /** `smtp://user:password@host:587`, `smtps://…`, or what has `sendMail`. Needed in production. */
  transport?: string | MailTransport
  /** The sender of mails that name none: `Help desk <desk@example.com>`. */
  from?: string
  /** Mail is not sent but logged, and kept for tests. Default: outside production. */
  catch?: boolean
}

/** A mail that was caught. */
export interface CaughtMail extends Omit<Mail, 'to' | 'cc' | 'bcc' | 'attachments'> {
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
}

/** Sends mail. Name it in a constructor: `static inject = [Mailer]`. */
export class Mailer {
  readonly #jobs: Jobs
  readonly #from: string | undefined

  /** Provided by `mail()`. */
  constructor(jobs: Jobs, from: string | undefined) {
    this.#jobs = jobs
    this.#from = from
  }

  /**
   * Adds the job that sends the mail: it is sent once the open transaction is committed, and again until it is taken; a
   * mail may come twice, with the same `Message-ID`.
   *
   * @throws {TypeError} no sender, no receiver, no content; an address, header or attachment that is malformed or too much
   */
  async send(mail: Mail, options: AddOptions = {}): Promise<AddedJob> {
    return this.#jobs.add(MailJobs, 'send', toStoredMail(mail, this.#from), options)
  }
}

/** The mails that a process has caught: the last ones. */
const maxCaught = 1000

export class MailJobs implements Lifecycle {
  static readonly inject = [ApplicationState, Clock, 'filigree.mail.options']
  readonly caught: CaughtMail[] = []
  readonly #state: ApplicationState
  readonly #options: MailOptions
  readonly #catches: boolean
  readonly #isProduction: boolean
  #transport: Promise<MailTransport> | undefined

  constructor(state: ApplicationState, clock: Clock, options: MailOptions) {
    this.#state = state
    this.#options = options
    // In a test nothing is sent, whatever its environment says.
    this.#isProduction = state.production && !clock.isMoved
    this.#catches = options.catch ?? !this.#isProduction
  }

  onStart(): void {
    if (this.#options.catch === true && this.#isProduction)
      throw new DeclarationError([
        {
          code: 'INVALID_OPTION',
          message: 'mail: with catch: true no mail is sent, in production neither.',
          remedy: 'Leave catch out: outside production mail is caught anyway.',
        },
      ])
    if (this.#catches || this.#options.transport !== undefined) return
    throw new DeclarationError([
      {
        code: 'INVALID_OPTION',
        message: 'mail: in production it needs a transport.',
        remedy: "Write mail({ transport: 'smtp://user:password@host:587', from }).",
      },
    ])
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
      ...{ from: readAddress(mail.from), replyTo: readAddress(mail.replyTo) },
      ...{ to: readAll(mail.to), cc: readAll(mail.cc), bcc: readAll(mail.bcc) },
      // The same at each attempt, so that receivers can tell a repetition.
      messageId: messageIdOf(mail, job.id),
      ...{ disableFileAccess: true, disableUrlAccess: true },
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
    // Its text may have a link that signs in.
    const details = { to, subject, attachments: attachments.length }
    this.#state.log.info(details, 'a mail was caught: outside production none is sent')
  }
}

/** Lists the class of the job also where an application imports this file and has no mail. */
@Module({ providers: [MailJobs] })
class MailModule {}

/** Mail: `@Module({ imports: [jobs({ work: true }), mail({ transport, from })] })`. */
export const mail = createModule(function mail(options: MailOptions = {}) {
  return {
    problems: findProblems(options),
    check: (providers: readonly unknown[]) =>
      providers.includes(Jobs)
        ? []
        : [
            {
              code: 'MAIL_WITHOUT_JOBS',
              message: 'mail: it sends by jobs, and no module imports them.',
              remedy: "Write imports: [jobs({ work: true }), mail(…)], jobs from 'filigree/jobs'.",
            },
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

function findProblems(options: MailOptions): Problem[] {
  const { transport, from, catch: catches } = options as Readonly<Record<string, unknown>>
  const problems = rejectUnknownOptions(options, ['transport', 'from', 'catch'], 'mail')
  const addProblem = (name: string, remedy: string): void => {
    problems.push({ code: 'INVALID_OPTION', message: `mail: ${name} cannot be used.`, remedy })
  }
  const isAddress = typeof transport === 'string' && /^smtps?:\/\/./.test(transport)
  const isObject =
    typeof (transport as Partial<MailTransport> | null | undefined)?.sendMail === 'function'
  if (transport !== undefined && !isAddress && !isObject)
    addProblem('transport', "Write 'smtp://user:password@host:587', or an object with sendMail.")
  if (from !== undefined && readAddress(from) === undefined)
    addProblem('from', "Write 'desk@example.com' or 'Help desk <desk@example.com>'.")
  if (catches !== undefined && typeof catches !== 'boolean')
    addProblem('catch', 'Write true or false.')
  return problems
}
