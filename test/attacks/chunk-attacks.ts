/** Attacks by bodies below 1 MiB that are sent in chunks of one byte. */
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { admin } from 'filigree/admin'
import {
  Auth,
  bootstrap,
  Controller,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
} from 'filigree'
import type { Attack, AttackResult } from './attack.js'
import { createEchoGraphql, sampleGrowth, watchTurns } from './measure.js'

@Record
class Part {
  @Field('id') id!: number
  @Field('string') name!: string
}

class Credentials {
  @Field('string') name!: string
}

@Controller('/login')
@NoAuth
class LoginController {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post('/', { body: Credentials })
  async login(body: Credentials): Promise<unknown> {
    if (body.name !== 'admin') throw new HttpError(403)
    return reply({}).freshToken(await this.auth.getToken({ sub: '1', roles: ['admin'] }))
  }
}

@Controller('/open')
@NoAuth
class OpenController {
  @Post('/')
  any(body: unknown): object {
    return { type: typeof body }
  }
}

/**
 * The attackers. They run in a process of their own, so that its processor time and memory do not count. Each sends the body in chunks of one byte, many chunks in a write. */
const clients = `
const { connect } = require('node:net')
const attack = ({ port, head }, chunks) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('error', () => undefined)
  socket.on('close', () => resolve(text.slice(9, 12)))
  socket.on('data', (data) => { text += data.toString('latin1') })
  socket.write(head)
  let at = 0
  const next = () => {
    if (at >= chunks.length) socket.write('0\\r\\n\\r\\n')
    else socket.write(chunks.subarray(at, at += 60_000), next)
  }
  next()
})
process.on('message', async (message) => {
  const { connections, body } = message
  const chunks = Buffer.from([...body].map((byte) => '1\\r\\n' + byte + '\\r\\n').join(''))
  process.send(await Promise.all(Array.from({ length: connections }, () => attack(message, chunks))))
})
`

interface Sent {
  readonly url: string
  readonly type: string
  readonly body: string
  readonly status: string
}

const connections = 64

/** Runs the attack. It is blocked if the process grows by less than 64 MiB and no turn of the event loop is over 100 ms. */
async function attackBy({ url, type, body, status }: Sent): Promise<AttackResult> {
  const graphql = createEchoGraphql()
  @Module({
    controllers: [OpenController, LoginController],
    records: [Part],
    graphql: [graphql],
    imports: [
      admin({ path: '/admin', roles: 'admin', records: [Part], login: { path: '/login' } }),
    ],
  })
  class PartModule {}
  const app = await bootstrap(PartModule, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
    database: 'sqlite::memory:',
    times: { linger: 10 },
  })
  const token = await app.get(Auth).getToken({ sub: '1', roles: ['admin'] })
  const head =
    `POST ${url} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\n` +
    'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n'
  const attackers = spawn(process.execPath, ['-e', clients], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  try {
    const endSampling = sampleGrowth(5)
    const endTurns = watchTurns()
    const before = process.cpuUsage()
    attackers.send({ port: Number(new URL(app.url).port), connections, head, body })
    const [statuses] = (await once(attackers, 'message')) as [string[]]
    const { user } = process.cpuUsage(before)
    const [growth, longest] = [endSampling(), endTurns()]
    return {
      now: `${[...new Set(statuses)].join(', ')}; the process grew by ${growth.toFixed(0)} MiB, the longest turn took ${longest.toFixed(0)} ms, ${(user / 1000 / connections).toFixed(0)} ms of processor time for each body`,
      isBlocked: growth < 64 && longest < 100 && statuses.every((one) => one === status),
    }
  } finally {
    attackers.kill()
    await app.close()
  }
}

const length = 1_000_000
const multipart = (disposition: string): string =>
  `--b\r\nContent-Disposition: form-data; name="text"${disposition}\r\n\r\n${'a'.repeat(length)}\r\n--b--\r\n`

const sent: readonly (Sent & { readonly name: string })[] = [
  {
    name: 'to /graphql',
    url: '/graphql',
    type: 'application/json',
    body: `${' '.repeat(length)}{"query":"{ echo(text: \\"a\\") }"}`,
    status: '200',
  },
  { name: 'of bytes', url: '/open', type: 'image/png', body: 'a'.repeat(length), status: '200' },
  {
    name: 'of a form with a field',
    url: '/open',
    type: 'multipart/form-data; boundary=b',
    body: multipart(''),
    status: '200',
  },
  {
    name: 'of a form with a file',
    url: '/open',
    type: 'multipart/form-data; boundary=b',
    body: multipart('; filename="a"'),
    status: '200',
  },
  {
    name: 'of CSV',
    url: '/admin/api/csv/parts?check=true',
    type: 'text/csv',
    body: `name\na\n${'\n'.repeat(length)}`,
    status: '200',
  },
]

export const attacks: readonly Attack[] = sent.map(({ name, ...request }) => ({
  name: `64 bodies below 1 MiB in chunks of one byte: ${name}`,
  before: 'each takes 4 to 8 s of processor time and 400 MiB',
  measures: true,
  run: () => attackBy(request),
}))
