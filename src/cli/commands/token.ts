/** `filigree token`: creates a token that is signed with the application's keys. */
import { Auth } from '../../auth/auth.js'
import { createKeys } from '../../auth/keys.js'
import { planApplication } from '../../bootstrap/plan-application.js'
import { readSeconds } from '../../core/duration.js'
import {
  type Command,
  exitCodes,
  moduleOption,
  readArguments,
  readJsonObject,
  type Terminal,
  toJson,
  UsageError,
} from '../command.js'
import { loadApplication } from '../load-application.js'

const flags = {
  claims: {
    type: 'string',
    value: '<json>',
    help: 'the claims of the token, a JSON object. Required',
  },
  for: {
    type: 'string',
    value: '<time>',
    help: 'its lifetime. Default: the lifetime in the application, or 1h',
  },
  module: moduleOption,
  json: { type: 'boolean', help: 'prints { token, claims }' },
} as const

export const tokenCommand: Command = {
  group: 'Develop',
  usage: 'filigree token --claims \'{"sub":"7"}\'',
  summary: 'prints a token for trying routes',
  description:
    "Creates a token that is signed with the application's keys and has its issuer, for trying routes.",
  options: flags,
  examples: [
    `filigree token --claims '{"sub":"7","roles":["admin"]}' --for 15m`,
    `curl -H "Authorization: Bearer $(filigree token --claims '{"sub":"7"}')" http://localhost:3000/items`,
  ],
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = readArguments(args, flags, 0)
  if (values.claims === undefined)
    throw new UsageError(`the claims are missing. Write --claims '{"sub":"7"}'.`)
  const claims = readJsonObject('--claims', values.claims)
  if (values.for !== undefined && readSeconds(values.for) === undefined)
    throw new UsageError(`--for ${values.for} is not a time. Write 15m, 1h or 7d.`)
  const application = await loadApplication(values.module, terminal)
  const planOptions = { ...application.options, logger: false as const }
  const { authOptions, log } = await planApplication(application.module, planOptions)
  const keys = createKeys({ origin: authOptions.keys, log })
  if (!keys.canSign)
    throw new UsageError('the application has no private key, so it cannot sign tokens.')
  const auth = new Auth({ ...authOptions, keys, log })
  const token = await auth.getToken(
    claims,
    values.for === undefined ? {} : { expiresIn: values.for },
  )
  await terminal.out(values.json ? toJson({ token, claims: claimsOf(token) }) : `${token}\n`)
  return exitCodes.done
}

function claimsOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
}
