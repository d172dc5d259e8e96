/** `request.signal` and `request.onFinished` when a handler first uses them after the request has ended. Source: decisions, Responses; "Times". */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  HttpError,
  Module,
  type Application,
  type HttpRequest,
} from '../../src/index.js'
import { open } from '../bootstrap/raw-client.js'

interface SignalState {
  readonly aborted: boolean
  readonly reason: unknown
  readonly cleaned: boolean
}

let app: Application
let notifyStarted: () => void
let reportState: (state: SignalState) => void

function look({ signal }: HttpRequest, cleaned: boolean): void {
  reportState({ aborted: signal.aborted, reason: signal.reason, cleaned })
}

@Controller
class SignalController {
  @Get('/left') async disconnects(request: HttpRequest) {
    notifyStarted()
    await once(request.outgoing, 'close')
    let cleaned = false
    request.onFinished(() => (cleaned = true))
    look(request, cleaned)
  }

  @Get('/late', { timeout: 20 }) async timesOut(request: HttpRequest) {
    await once(request.signal, 'abort')
    look(request, false)
  }

  @Get('/read-late', { timeout: 20 }) async readsAfterTimeout(request: HttpRequest) {
    await once(request.outgoing, 'finish')
    look(request, false)
  }

  @Get('/fine') async fine(request: HttpRequest) {
    void once(request.outgoing, 'close').then(() => {
      let cleaned = false
      request.onFinished(() => (cleaned = true))
      look(request, cleaned)
    })
    return {}
  }
}

@Module({ controllers: [SignalController] })
class SignalModule {}

beforeAll(async () => {
  app = await bootstrap(SignalModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
})
afterAll(() => app.close())

function nextReport(): Promise<SignalState> {
  return new Promise((resolve) => (reportState = resolve))
}

describe('request.signal', () => {
  it('is aborted, and cleanups run, if they are first used after the client disconnected', async () => {
    const result = nextReport()
    const working = new Promise<void>((resolve) => (notifyStarted = resolve))
    const socket = open(app.url)
    socket.write('GET /left HTTP/1.1\r\nHost: x\r\n\r\n')
    await working
    socket.resetAndDestroy()
    expect(await result).toMatchObject({ aborted: true, cleaned: true })
  })

  it.each(['/late', '/read-late'])('is aborted when the route times out: %s', async (url) => {
    const result = nextReport()
    expect((await app.inject(url)).status).toBe(503)
    const { aborted, reason } = await result
    expect([aborted, reason]).toEqual([true, expect.any(HttpError)])
    expect((reason as HttpError).status).toBe(503)
  })

  it('is not aborted after a complete response', async () => {
    const result = nextReport()
    expect((await fetch(`${app.url}/fine`)).status).toBe(200)
    expect(await result).toMatchObject({ aborted: false, cleaned: true })
  })
})
