/** Invitation, password reset and confirmation of an address, as docs/one-time-links.md shows them. */
import {
  Auth,
  type Claims,
  Controller,
  Database,
  Field,
  type Generated,
  hashPassword,
  HttpError,
  NoAuth,
  oneTime,
  type OneTime,
  Post,
  PublicUrl,
  Record,
  Secured,
} from 'filigree'
import { Job, Jobs } from 'filigree/jobs'
import { Mailer } from 'filigree/mail'

@Record({ writes: false })
export class Member {
  @Field('id') id!: number
  @Field('string', { unique: true, format: 'email' }) email!: string
  @Field('boolean', { default: false }) confirmed!: Generated<boolean>
  @Field('string', { hidden: true }) password!: string
}

// docs: begin
export const invitations = oneTime<{ email: string }>('invitation', { for: '7d' })
export const resets = oneTime<{ memberId: number }>('password reset', { for: '30m' })
export const confirmations = oneTime<{ memberId: number; email: string }>('e-mail', { for: '1d' })

class Email {
  @Field('string', { format: 'email', maxLength: 200 }) email!: string
}

class NewPassword {
  @Field('string', { maxLength: 100 }) token!: string
  @Field('string', { minLength: 12, maxLength: 200 }) password!: string
}

class Confirmation {
  @Field('string', { maxLength: 100 }) token!: string
}

const usedUp = new HttpError(400, 'This link was used or has run out. Ask for a new one.')

/** Runs after the response, whose time then does not reveal whether the address has an account. */
export class ResetMail {
  static inject = [Database, Mailer, PublicUrl, resets]
  constructor(
    private readonly database: Database,
    private readonly mailer: Mailer,
    private readonly publicUrl: PublicUrl,
    private readonly resets: OneTime<{ memberId: number }>,
  ) {}

  @Job({ body: Email })
  async send(body: Email): Promise<void> {
    const { email: to } = body
    const [member] = await this.database.records(Member).list({ where: { email: to }, limit: 1 })
    if (member === undefined) return
    const token = await this.resets.make({ memberId: member.id }, { key: String(member.id) })
    const text = this.publicUrl.to(`/reset?token=${token}`)
    await this.mailer.send({ to, subject: 'A new password', text })
  }
}

@Controller('/')
export class Links {
  static inject = [Database, Auth, Jobs, Mailer, PublicUrl, invitations, resets, confirmations]
  constructor(
    private readonly database: Database,
    private readonly auth: Auth,
    private readonly jobs: Jobs,
    private readonly mailer: Mailer,
    private readonly publicUrl: PublicUrl,
    private readonly invitations: OneTime<{ email: string }>,
    private readonly resets: OneTime<{ memberId: number }>,
    private readonly confirmations: OneTime<{ memberId: number; email: string }>,
  ) {}

  // A second invitation to the same address ends the first.
  @Post('/invitations', { body: Email, transaction: true })
  @Secured('admin')
  async invite(body: Email): Promise<void> {
    const { email } = body
    const token = await this.invitations.make({ email }, { key: email })
    await this.send(email, 'You are invited', `/join?token=${token}`)
  }

  @Post('/join', { body: NewPassword, status: 201 })
  @NoAuth
  async join(body: NewPassword): Promise<void> {
    // Hashing is slow, so it runs before the transaction.
    const password = await hashPassword(body.password)
    await this.database.transaction(async () => {
      const invitation = await this.invitations.take(body.token)
      if (invitation === null) throw usedUp
      // The link proves that the caller reads this mailbox.
      const { email } = invitation
      await this.database.records(Member).create({ email, confirmed: true, password })
    })
  }

  // The response and its time are the same for unknown addresses.
  @Post('/reset/mail', { body: Email, status: 202 })
  @NoAuth
  async forgot(body: Email): Promise<void> {
    await this.jobs.add(ResetMail, 'send', { email: body.email })
  }

  @Post('/reset', { body: NewPassword, status: 204 })
  @NoAuth
  async reset(body: NewPassword): Promise<void> {
    const password = await hashPassword(body.password)
    await this.database.transaction(async () => {
      const reset = await this.resets.take(body.token)
      if (reset === null) throw usedUp
      await this.database.records(Member).update(reset.memberId, { password })
      // Signs out every device, also of a thief who knew the old password.
      await this.auth.revokeAll(String(reset.memberId))
    })
  }

  // The new address is stored when its link is opened.
  @Post('/email', { body: Email, transaction: true, status: 202 })
  async change(body: Email, user: Claims): Promise<void> {
    const { email } = body
    const value = { memberId: Number(user.sub), email }
    const token = await this.confirmations.make(value, { key: String(user.sub) })
    await this.send(email, 'Is this your address?', `/confirm?token=${token}`)
  }

  @Post('/confirm', { body: Confirmation, transaction: true, status: 204 })
  @NoAuth
  async confirm(body: Confirmation): Promise<void> {
    const confirmation = await this.confirmations.take(body.token)
    if (confirmation === null) throw usedUp
    const { memberId, email } = confirmation
    await this.database.records(Member).update(memberId, { email, confirmed: true })
  }

  /** The link begins with the public address, never with the request's Host. The mail is sent after the commit. */
  private async send(to: string, subject: string, path: string): Promise<void> {
    await this.mailer.send({ to, subject, text: this.publicUrl.to(path) })
  }
}
// docs: end
