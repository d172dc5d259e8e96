/** Source: decisions, Requests. Titles begin with the statement that they check. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, it, expect } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  type HttpRequest,
  type Session,
} from '../../src/index.js'
import { expectError } from './error-responses.js'

/** The promise that the handler awaits, and the stream that it then returns. */
let pending: Promise<void> = Promise.resolve()
let stream = Readable.from([])

@Controller
class SlowController {
  @Get('/late', { timeout: 20 })
  async pending() {
    await pending
    return stream
  }

  @Get('/session', { timeout: 20 })
  session(session: Session) {
    session.user = 'Ada'
    return {}
  }

  @Get('/aborted', { timeout: 20 })
  aborted(session: Session, request: HttpRequest) {
    session.user = 'Ada'
    return new Promise((_resolve, reject) => {
      request.signal.addEventListener('abort', () => {
        reject(new Error('aborted'))
      })
    })
  }
}

@Module({ controllers: [SlowController] })
class SlowModule {}

const quiet = { listen: false, logger: false, env: {} }

describe('Requests, Times', () => {
  it('a handler that takes too long is 503, and the stream that it returns later is closed', async () => {
    let release: () => void = () => undefined
    pending = new Promise((resolve) => {
      release = resolve
    })
    stream = Readable.from(['x'])
    await using app = await bootstrap(SlowModule, quiet)
    expectError(await app.inject('/late'), 503, /^The request took too long\.$/)
    const closed = once(stream, 'close')
    release()
    await closed
    expect(stream.destroyed).toBe(true)
  })

  it('a session store that never answers is 503', async () => {
    const never = new Promise<never>(() => undefined)
    const store = { read: () => undefined, write: () => never, remove: () => undefined }
    await using stuck = await bootstrap(SlowModule, { ...quiet, sessions: { store } })
    expectError(await stuck.inject('/session'), 503, /^The request took too long\.$/)
  })

  it('the session is saved before the 503, even if the handler ends with its signal', async () => {
    const later = () => new Promise<void>((resolve) => setImmediate(resolve))
    const store = { read: () => undefined, write: later, remove: () => undefined }
    await using app = await bootstrap(SlowModule, { ...quiet, sessions: { store } })
    const response = await app.inject('/aborted')
    expectError(response, 503, /^The request took too long\.$/)
    expect(response.headers['set-cookie']).toMatch(/^app_session/)
  })
})
