/** `filigree token`: creates a token that is signed with the application's keys. */
import { Auth } from '../../auth/auth.js'
import { createKeys } from '../../auth/keys.js'
import { readSeconds } from '../../core/time.js'
import {
  defineCommand,
  flag,
  moduleOption,
  option,
  readJsonObject,
  UsageError,
} from '../command.js'
import { toJson } from '../output.js'
import { loadPlan } from '../load-application.js'

export const tokenCommand = defineCommand({
  group: 'Develop',
  usage: 'filigree token --claims \'{"sub":"7"}\'',
  summary: 'prints a token for trying routes',
  description:
    "Creates a token that is signed with the application's keys and has its issuer, for trying routes.",
  options: {
    claims: option('<json>', 'the claims of the token, a JSON object. Required'),
    for: option('<time>', 'its lifetime. Default: the lifetime in the application, or 1h'),
    module: moduleOption,
    json: flag('prints { token, claims }'),
  },
  examples: [
    `filigree token --claims '{"sub":"7","roles":["admin"]}' --for 15m`,
    `TOKEN=$(filigree token --claims '{"sub":"7"}')`,
    'curl -H "Authorization: Bearer $TOKEN" localhost:3000/items',
  ],
  maxPositionals: 0,
  run: async ({ values }, terminal) => {
    if (values.claims === undefined)
      throw new UsageError(`the claims are missing. Write --claims '{"sub":"7"}'.`)
    const claims = readJsonObject('--claims', values.claims)
    if (values.for !== undefined && readSeconds(values.for) === undefined)
      throw new UsageError(`--for ${values.for} is not a time. Write 15m, 1h or 7d.`)
    const { authOptions, log } = (await loadPlan(values.module, terminal)).plan
    const keys = createKeys({ origin: authOptions.keys, log })
    if (!keys.canSign)
      throw new UsageError('the application has no private key, so it cannot sign tokens.')
    const auth = new Auth({ ...authOptions, keys, log })
    const token = await auth.getToken(
      claims,
      values.for === undefined ? {} : { expiresIn: values.for },
    )
    terminal.protectOutput?.()
    await terminal.out(values.json ? toJson({ token, claims: claimsOf(token) }) : `${token}\n`)
    return true
  },
})

function claimsOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
}
