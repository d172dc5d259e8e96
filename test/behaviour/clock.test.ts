/** The application takes its time from its Clock, so tests move it without changing the system time. */
import { describe, expect, it } from '@jest/globals'
import { Auth, bootstrap, Clock, Controller, Get, Module, Post, NoAuth, Secured } from 'filigree'
import type { Session } from 'filigree'
import { CacheFor } from 'filigree/cache'
import { Throttle } from 'filigree/throttle'

class MovableClock extends Clock {
  ahead = 0

  override now(): number {
    return super.now() + this.ahead
  }
}

let callCount = 0

@Controller('/')
class Desk {
  @Get('/secured') @Secured secured(): string {
    return 'secured'
  }

  @Get('/rare') @Throttle('1/m') rare(): string {
    return 'rare'
  }

  @Get('/cached') @CacheFor('60s') cached(): { callCount: number } {
    return { callCount: ++callCount }
  }

  @Post('/visit') @NoAuth visit(session: Session): { visited: boolean } {
    const visited = session['visited'] === true
    session['visited'] = true
    return { visited }
  }
}

@Module({ controllers: [Desk] })
class DeskModule {}

async function start(): Promise<{
  app: Awaited<ReturnType<typeof bootstrap>>
  clock: MovableClock
}> {
  const clock = new MovableClock()
  const app = await bootstrap(DeskModule, {
    listen: false,
    logger: false,
    override: [[Clock, clock]],
  })
  return { app, clock }
}

describe('Clock', () => {
  it('expires tokens', async () => {
    const { app, clock } = await start()
    const token = await app.get(Auth).getToken({ sub: '7' }, { expiresIn: '1h' })
    expect((await app.inject({ url: '/secured', token })).status).toBe(200)
    clock.ahead = 3_700_000
    expect((await app.inject({ url: '/secured', token })).status).toBe(401)
    await app.close()
  })

  it('ends the windows of rate limits', async () => {
    const { app, clock } = await start()
    expect((await app.inject('/rare')).status).toBe(200)
    const refused = await app.inject('/rare')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
    clock.ahead = 61_000
    expect((await app.inject('/rare')).status).toBe(200)
    await app.close()
  })

  it('expires sessions', async () => {
    const { app, clock } = await start()
    const visit = (cookie?: string) =>
      app.inject({
        method: 'POST',
        url: '/visit',
        headers: cookie === undefined ? {} : { cookie },
      })
    const cookie = (await visit()).headers['set-cookie']?.split(';')[0]
    expect((await visit(cookie)).json()).toEqual({ visited: true })
    clock.ahead = 7_300_000
    expect((await visit(cookie)).json()).toEqual({ visited: false })
    await app.close()
  })

  it('expires cached responses', async () => {
    const { app, clock } = await start()
    const first = (await app.inject('/cached')).json()
    expect((await app.inject('/cached')).json()).toEqual(first)
    clock.ahead = 61_000
    expect((await app.inject('/cached')).json()).not.toEqual(first)
    await app.close()
  })

  it('is the instance that providers get', async () => {
    const { app, clock } = await start()
    expect(app.get(Clock)).toBe(clock)
    await app.close()
  })
})
