/** Source: decisions, Requests. Titles begin with the statement that they check. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, it, expect } from '@jest/globals'
import { bootstrap, Controller, Get, Module, type Session } from '../../src/index.js'
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
}

@Module({ controllers: [SlowController] })
class SlowModule {}

const quiet = { listen: false, logger: false, env: {} }

describe('Requests, Times', () => {
  it('Requests, Times: a handler that takes too long is 503, and the stream that it returns later is closed', async () => {
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

  it('Requests, Times: a session store that never answers is 503', async () => {
    const never = new Promise<never>(() => undefined)
    const store = { read: () => undefined, write: () => never, remove: () => undefined }
    await using stuck = await bootstrap(SlowModule, { ...quiet, sessions: { store } })
    expectError(await stuck.inject('/session'), 503, /^The request took too long\.$/)
  })
})
