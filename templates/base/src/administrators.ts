/** The first administrator. Only the operator can create it, with a link that the start prints and that works once. */
import {
  ApplicationState,
  Auth,
  Controller,
  Database,
  Field,
  Get,
  hashPassword,
  html,
  HttpError,
  NoAuth,
  oneTime,
  Post,
  redirect,
  Undocumented,
  type OneTime,
} from 'filigree'
import { Throttle } from 'filigree/throttle'
import { Credentials, tokenFor } from './accounts.js'
import { Account } from './records.js'

export const administratorLinks = oneTime<true>('administrator', { for: '1d' })

/** Prints the link at each start, until there is an administrator. A new link ends the one before. */
export class AdministratorLink {
  static inject = [ApplicationState, Database, administratorLinks]
  constructor(
    private readonly state: ApplicationState,
    private readonly database: Database,
    private readonly links: OneTime<true>,
  ) {}

  async onStart() {
    if (!this.state.listening || (await hasAdministrator(this.database))) return
    const token = await this.links.make(true, { key: 'first' })
    const { PUBLIC_URL, PORT = '3000' } = process.env
    const address = PUBLIC_URL ?? `http://localhost:${PORT}`
    this.state.log.warn(
      {},
      `There is no administrator. Create one within a day at ${address}/administrator?token=${token}`,
    )
  }
}

class Link {
  @Field('string', { pattern: /^[\w-]{43}$/ }) token!: string
}

class NewAdministrator extends Credentials {
  @Field('string', { maxLength: 100 }) token!: string
}

@Controller('/administrator')
@NoAuth
@Undocumented
export class AdministratorController {
  static inject = [Auth, Database, administratorLinks]
  constructor(
    private readonly auth: Auth,
    private readonly database: Database,
    private readonly links: OneTime<true>,
  ) {}

  /** The form. It does not use up the link, because programs open links too. */
  @Get('/', { query: Link })
  form(query: Link) {
    return html(toPage(query.token))
  }

  @Post('/', { body: NewAdministrator })
  @Throttle('10/m')
  async add(body: NewAdministrator) {
    const { token, name, password } = body
    // Hashing is slow, so it runs before the transaction.
    const passwordHash = await hashPassword(password)
    const account = await this.database.transaction(async (tx) => {
      const isValid = (await this.links.take(token)) !== null
      if (!isValid || (await hasAdministrator(tx)))
        throw new HttpError(400, 'This link was used or has run out. A start prints a new one.')
      return tx.records(Account).create({ name, passwordHash, isAdmin: true })
    })
    return redirect('/admin', 303).freshToken(await tokenFor(account, this.auth))
  }
}

async function hasAdministrator(database: Pick<Database, 'records'>) {
  return (await database.records(Account).count({ isAdmin: true })) > 0
}

/** @param token checked: it needs no escaping */
function toPage(token: string) {
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1" />
  <meta name="color-scheme" content="light dark" />
  <title>First administrator</title>
  <main>
    <h1>First administrator</h1>
    <form method="post">
      <input type="hidden" name="token" value="${token}" />
      <p><label>Name <input name="name" autocomplete="username" minlength="2" required /></label></p>
      <p>
        <label>
          Password
          <input name="password" type="password" autocomplete="new-password" minlength="8" required />
        </label>
      </p>
      <button>Create the account</button>
    </form>
  </main>
</html>`
}
