/** The mail of a tested application: none is sent. */

/** A mail that was caught. */
export interface TestMail {
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly subject: string
  readonly text?: string
  readonly html?: string
  readonly replyTo?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What the module of mail has for tests. */
export interface MailHome {
  readonly caught: readonly TestMail[]
}
