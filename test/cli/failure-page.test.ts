/** The page of a 500 under `filigree dev`: the message and the source line for the developer, nothing for other clients. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, checkOf, Controller, Get, HttpError, Module, type Application } from 'filigree'
import { silentLog } from '../silent-log.js'
import { startMonitoring, stopMonitoring } from './development-monitor.js'

@Controller('/lamps')
class Lamps {
  @Get('/broken') broken(): never {
    throw new Error('<b>the lamp is broken</b>')
  }
  @Get('/later') async later(): Promise<never> {
    await Promise.resolve()
    throw new HttpError(500, 'the lamp is late')
  }
  @Get('/inside') inside(): unknown {
    return checkOf(Lamps, { nam: 'thrown by the framework' } as never)
  }
  @Get('/pin/<pin>') pin(pin: string): never {
    throw new Error(`the lamp refused ${pin}`)
  }
}
@Module({ controllers: [Lamps] })
class LampModule {}

const secret = 'secret-of-the-page'
const monitor = startMonitoring(secret)
let app: Application
let production: Application
beforeAll(async () => {
  const options = { port: 0, host: '127.0.0.1', logger: silentLog, times: { linger: 20 } }
  app = await bootstrap(LampModule, { ...options, env: { NODE_ENV: 'development' } })
  production = await bootstrap(LampModule, {
    ...{ ...options, auth: { keys: false } },
    env: { NODE_ENV: 'production', PUBLIC_URL: 'https://lamps.example' },
  })
})
afterAll(async () => {
  stopMonitoring(monitor)
  await app.close()
  await production.close()
})

interface Page {
  readonly status: number
  readonly text: string
}

async function open(
  path: string,
  headers: Record<string, string> = {},
  { url }: Application = app,
): Promise<Page> {
  const response = await fetch(url + path, { headers: { accept: 'text/html', ...headers } })
  return { status: response.status, text: await response.text() }
}

const cookie = (): string => `filigree-dev-${new URL(app.url).port}=${secret}`
const hint = 'filigree dev'

describe('the page of a 500 under filigree dev', () => {
  it.each([
    ['broken', 'Error: &lt;b&gt;the lamp is broken', 'throw new Error(&#39;&lt;b&gt;the lamp is'],
    ['later', 'the lamp is late', 'throw new HttpError(500, &#39;the lamp is late'],
    ['inside', 'unknown option', 'return checkOf(Lamps'],
  ])('has the message and the line of the application: %s', async (name, message, line) => {
    const { status, text } = await open(`/lamps/${name}`, { cookie: cookie() })
    expect(status).toBe(500)
    expect(text).toContain(message)
    expect(/<mark>(.*)/.exec(text)?.[1]).toContain(line)
    expect(text).toMatch(/Open test\/cli\/failure-page\.test\.ts:\d+ in the editor/)
    expect(text).toContain(`Lamps.${name}`)
  })

  it('hides secrets of the request', async () => {
    const { text } = await open('/lamps/pin/4711x', { cookie: cookie() })
    expect(text).toContain('the lamp refused (hidden)')
    expect(text).not.toContain('4711x')
  })

  it('without the secret says where the error is, and shows none of it', async () => {
    const { status, text } = await open('/lamps/broken')
    expect(status).toBe(500)
    expect(text).toContain(hint)
    expect(text).toContain('The terminal shows the error')
    expect(text).not.toMatch(/lamp is|failure-page|Lamps/)
  })

  it('says nothing about it to clients behind a proxy, and in production', async () => {
    for (const { status, text } of [
      await open('/lamps/broken', { cookie: cookie(), via: '1.1 proxy' }),
      await open('/lamps/broken', { cookie: cookie() }, production),
    ]) {
      expect(status).toBe(500)
      expect(text).not.toContain(hint)
      expect(text).not.toMatch(/lamp is|failure-page|Lamps/)
    }
  })
})
