/** Source: public API, 1 and 2; decisions, Validation and fields. Titles begin with the statement that they check. */
import { describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Get,
  Injectable,
  Module,
  type BootstrapOptions,
} from '../../src/index.js'

const quiet: BootstrapOptions = { listen: false, logger: false, env: {} }
const events: string[] = []

class Clock {
  now(): number {
    return 7
  }
  onStart(): void {
    events.push('clock starts')
  }
  onStop(): void {
    events.push('clock stops')
  }
}

class Mailer {
  send(text: string): string {
    return `sent ${text}`
  }
}

@Injectable
class Store {
  readonly clock: Clock
  constructor(clock: Clock) {
    this.clock = clock
  }
  async onStart(): Promise<void> {
    await Promise.resolve()
    events.push('store starts')
  }
  async onStop(): Promise<void> {
    await Promise.resolve()
    events.push('store stops')
  }
}

class Report {
  static inject = [Store, 'currency', () => Mailer]
  readonly text: string
  constructor(store: Store, currency: string, mailer: Mailer) {
    this.text = mailer.send(`${store.clock.now()} ${currency}`)
  }
}

@Controller('/shop')
class ShopController {
  readonly store: Store
  constructor(store: Store) {
    this.store = store
  }

  @Get('/now')
  now() {
    return { now: this.store.clock.now() }
  }
}

@Controller('/report')
class ReportController {
  static inject = [Report, 'rate']
  readonly report: Report
  readonly rate: number
  constructor(report: Report, rate: number) {
    this.report = report
    this.rate = rate
  }

  @Get('/')
  show() {
    return { text: this.report.text, rate: this.rate }
  }
}

@Module({ providers: [Clock, Store], controllers: [ShopController] })
class ShopModule {}

@Module({
  imports: [ShopModule, () => MailModule],
  controllers: [ReportController],
  providers: [
    Report,
    { provide: 'currency', use: 'EUR' },
    {
      provide: 'rate',
      make: async (clock: Clock) => Promise.resolve(clock.now() / 2),
      inject: [Clock],
    },
  ],
})
class AppModule {}

@Module({ imports: [ShopModule], providers: [Mailer] })
class MailModule {}

describe('Providers', () => {
  it('constructors get classes, values, factories and imported providers, each created once', async () => {
    await using app = await bootstrap(AppModule, quiet)
    expect((await app.inject('/shop/now')).json()).toEqual({ now: 7 })
    expect((await app.inject('/report')).json()).toEqual({ text: 'sent 7 EUR', rate: 3.5 })
    expect(app.get(ShopController).store).toBe(app.get(Store))
    expect(app.get<number>('rate')).toBe(3.5)
    expect(app.get(Auth)).toBeInstanceOf(Auth)
    expect(() => app.get('curency')).toThrow('No module provides curency. Did you mean currency?')
  })

  it('override: a class or a value replaces a provider everywhere', async () => {
    class Stopped extends Clock {
      override now() {
        return 0
      }
    }
    const override = [
      [Clock, Stopped],
      [Mailer, { send: (text: string) => `kept ${text}` }],
      ['currency', 'USD'],
    ] as const
    await using app = await bootstrap(AppModule, { ...quiet, override })
    expect((await app.inject('/shop/now')).json()).toEqual({ now: 0 })
    expect((await app.inject('/report')).json()).toEqual({ text: 'kept 0 USD', rate: 0 })
  })

  it('onStart, onStop: dependencies start first and stop last', async () => {
    events.length = 0
    const app = await bootstrap(AppModule, quiet)
    expect(events).toEqual(['clock starts', 'store starts'])
    await Promise.all([app.close(), app.close()])
    expect(events).toEqual(['clock starts', 'store starts', 'store stops', 'clock stops'])
  })

  it('onStart: a failing provider stops bootstrap, and started providers are stopped', async () => {
    class Broken {
      static inject = [Clock]
      readonly clock: Clock
      constructor(clock: Clock) {
        this.clock = clock
      }
      onStart(): void {
        throw new Error('no disk')
      }
    }
    @Module({ imports: [ShopModule], providers: [Broken] })
    class BrokenModule {}
    events.length = 0
    await expect(bootstrap(BrokenModule, quiet)).rejects.toThrow('no disk')
    expect(events.slice(-2)).toEqual(['store stops', 'clock stops'])
  })

  it('onStop: a failing provider is logged, and the other providers stop', async () => {
    class Stubborn {
      onStop(): void {
        throw new Error('stuck')
      }
    }
    @Module({ imports: [ShopModule], providers: [Stubborn] })
    class StubbornModule {}
    const logged: unknown[] = []
    const none = (): void => undefined
    const error = (details: object, message: string): void => {
      logged.push([message, details])
    }
    const logger = { error, warn: none, info: none, debug: none }
    const app = await bootstrap(StubbornModule, { ...quiet, logger })
    events.length = 0
    await app.close()
    expect(events).toEqual(['store stops', 'clock stops'])
    expect(logged).toEqual([['onStop failed', { err: new Error('stuck') }]])
  })
})
