/** `filigree token`: creates a token that is signed with the application's keys. */
import { Auth } from '../../auth/auth.js'
import { createKeys } from '../../auth/keys.js'
import { planApplication } from '../../bootstrap/plan-application.js'
import { readSeconds } from '../../core/duration.js'
import {
  type Command,
  exitCodes,
  UsageError,
  type Terminal,
  readArguments,
  readJsonObject,
} from '../command.js'
import { loadApplication } from '../load-application.js'

const usage = `filigree token --claims '{"sub":"7","roles":["admin"]}' [--for 1h] [--module module.js] [--json]
  Makes a token with the application's own keys and issuer, to try its routes with:
  curl -H "Authorization: Bearer $(filigree token --claims '{"sub":"7"}')" http://localhost:3000/items
  --for 15m         how long it lives; default: the application's own time, else 1h
  --json            { token, claims } on standard output`

export const tokenCommand: Command = { usage, summary: 'a token to try routes with', run }

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const kinds = { claims: 'text', for: 'text', module: 'text', json: 'switch' } as const
  const { values } = readArguments(args, kinds, 0)
  if (values.claims === undefined) throw new UsageError(`say whose token: --claims '{"sub":"7"}'.`)
  const claims = readJsonObject('--claims', values.claims)
  if (values.for !== undefined && readSeconds(values.for) === undefined)
    throw new UsageError(`--for ${values.for} is no time: write 15m, 1h or 7d.`)
  const { module, options } = await loadApplication(values.module, terminal)
  const { authOptions, log } = await planApplication(module, { ...options, logger: false })
  const keys = createKeys({ origin: authOptions.keys, log })
  if (!keys.canSign)
    throw new UsageError('this application makes no tokens: it has no private key of its own.')
  const auth = new Auth({ ...authOptions, keys, log })
  const token = await auth.getToken(
    claims,
    values.for === undefined ? {} : { expiresIn: values.for },
  )
  const output = values.json ? JSON.stringify({ token, claims: claimsOf(token) }, null, 2) : token
  await terminal.out(`${output}\n`)
  return exitCodes.done
}

function claimsOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
}
