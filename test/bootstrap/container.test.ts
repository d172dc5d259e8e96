import { describe, expect, it } from '@jest/globals'
import { Injectable, type Inject, type ProviderDeclaration } from '../../src/index.js'
import { Problems } from '../../src/errors/problems.js'
import { createContainer, type Container } from '../../src/bootstrap/container.js'
import { type InjectionToken } from '../../src/bootstrap/provider.js'
import type { Class } from '../public-types.js'

class Clock {
  readonly time = 7
}

@Injectable
class Mailer {
  constructor(readonly clock: Clock) {}
}

class Shop {
  static inject = [Mailer, 'currency']
  readonly mailer: Mailer
  readonly currency: string
  constructor(mailer: Mailer, currency: string) {
    this.mailer = mailer
    this.currency = currency
  }
}

interface Setup {
  providers?: ProviderDeclaration[]
  controllers?: Class[]
  override?: [InjectionToken, unknown][]
}

function create(setup: Setup): { container: Container; problems: Problems } {
  const problems = new Problems()
  const container = createContainer(
    {
      moduleName: 'AppModule',
      providers: setup.providers ?? [],
      controllers: setup.controllers ?? [],
      override: setup.override ?? [],
      builtIn: [],
    },
    problems,
  )
  return { container, problems }
}

function problemsOf(setup: Setup): [string, string, string][] {
  return create(setup).problems.list.map(({ code, message, remedy }) => [code, message, remedy])
}

// Only types: arguments that do not match the constructor do not compile.
class Typed {
  static readonly inject = [Mailer, 'currency'] satisfies Inject<typeof Typed>
  constructor(
    readonly mailer: Mailer,
    readonly currency: string,
  ) {}
}
class Wrong {
  // @ts-expect-error the first argument is a Mailer
  static readonly inject = [Clock, 'currency'] satisfies Inject<typeof Wrong>
  constructor(
    readonly mailer: Mailer,
    readonly currency: string,
  ) {}
}
class Short {
  // @ts-expect-error there are two arguments
  static readonly inject = [Mailer] satisfies Inject<typeof Short>
  constructor(
    readonly mailer: Mailer,
    readonly currency: string,
  ) {}
}

@Injectable
class Swapped {
  static readonly inject = [Clock, Mailer]
  constructor(
    readonly mailer: Mailer,
    readonly clock: Clock,
  ) {}
}

describe('createContainer', () => {
  it('refuses swapped arguments of inject where the compiler emitted the types', () => {
    const [problem] = problemsOf({ providers: [Swapped, Mailer, Clock] })
    expect(problem?.[1]).toBe(
      'Swapped has Clock at position 1 of inject, where its constructor takes Mailer.',
    )
    expect([Typed.inject.length, Wrong.inject.length, Short.inject.length]).toEqual([2, 2, 1])
  })

  it('creates each provider once, with its constructor arguments', async () => {
    const { container, problems } = create({
      providers: [Shop, Mailer, Clock, { provide: 'currency', use: 'EUR' }],
    })
    expect(problems.list).toEqual([])
    await container.createAll()
    const shop = container.get(Shop)
    expect(shop.currency).toBe('EUR')
    expect(shop.mailer).toBe(container.get(Mailer))
    expect(shop.mailer.clock).toBe(container.get(Clock))
  })

  it('waits for a factory that returns a promise', async () => {
    const { container } = create({
      providers: [
        { provide: 'currency', make: async (clock: Clock) => `E${clock.time}`, inject: [Clock] },
        Clock,
      ],
    })
    await container.createAll()
    expect(container.get('currency')).toBe('E7')
  })

  it('accepts thunks of classes that are defined later', async () => {
    const { container, problems } = create({ providers: [() => Deferred] })
    expect(problems.list).toEqual([])
    await container.createAll()
    expect(container.get(Deferred)).toBeInstanceOf(Deferred)
  })

  it('replaces a provider, a class or a value by an override', async () => {
    class FakeMailer {}
    const fakeClock = { time: 0 }
    const { container } = create({
      providers: [Mailer, Clock],
      override: [
        [Mailer, FakeMailer],
        [Clock, fakeClock],
      ],
    })
    await container.createAll()
    expect(container.get(Mailer)).toBeInstanceOf(FakeMailer)
    expect(container.get(Clock)).toBe(fakeClock)
  })

  it('starts in the order of creation and stops in reverse, whatever fails', async () => {
    const log: string[] = []
    class First {
      onStart() {
        log.push('start first')
      }
      onStop() {
        log.push('stop first')
      }
    }
    class Second {
      static inject = [First]
      async onStart() {
        log.push('start second')
      }
      onStop() {
        throw new Error('stuck')
      }
    }
    const { container } = create({ providers: [Second, First] })
    await container.createAll()
    await container.start()
    const failures: unknown[] = []
    await container.stop((error) => failures.push(error))
    expect(log).toEqual(['start first', 'start second', 'stop first'])
    expect(failures).toEqual([new Error('stuck')])
  })

  it('reports the path that leads to a missing provider', () => {
    expect(problemsOf({ controllers: [Shop], providers: [Mailer] })).toEqual([
      [
        'MISSING_PROVIDER',
        'Shop → Mailer needs Clock, which no module provides.',
        'Add Clock to AppModule.providers.',
      ],
      [
        'MISSING_PROVIDER',
        'Shop needs currency, which no module provides.',
        'Add currency to AppModule.providers.',
      ],
    ])
  })

  it.each([
    ['fewer', 'takes 2 arguments, but inject has 1 entry'],
    ['more', 'takes 1 argument, but inject has 2 entries'],
    ['inherited', 'takes 2 arguments, but inject has 1 entry'],
  ])('reports entries of inject that do not match the constructor: %s', (kind, problem) => {
    class Fewer {
      static inject = [Clock]
      constructor(
        readonly clock: Clock,
        readonly other: Clock,
      ) {}
    }
    class More {
      static inject = [Clock, 'currency']
      constructor(readonly clock: Clock) {}
    }
    class Inherited extends Fewer {}
    const type = { fewer: Fewer, more: More, inherited: Inherited }[kind]
    const providers = [type ?? Clock, Clock, { provide: 'currency', use: 'ISK' }]
    expect(problemsOf({ providers })).toEqual([
      [
        'UNREADABLE_DEPENDENCIES',
        `${type?.name ?? ''} ${problem}.`,
        `Add to ${type?.name ?? ''}: static inject = [ … ], the classes or tokens in order.`,
      ],
    ])
  })

  it('accepts entries of inject for arguments with defaults and for replaced constructors', () => {
    class WithDefault {
      static inject = [Clock, 'currency']
      constructor(
        readonly clock: Clock,
        readonly currency = 'EUR',
      ) {}
    }
    class Base {
      static inject = [Clock]
      constructor(readonly clock: Clock) {}
    }
    class Replaced extends Base {
      constructor() {
        super(new Clock())
      }
    }
    class Rest {
      static inject = [Clock, 'currency']
      readonly rest: readonly unknown[]
      constructor(...rest: readonly unknown[]) {
        this.rest = rest
      }
    }
    const currency = { provide: 'currency', use: 'ISK' }
    expect(problemsOf({ providers: [WithDefault, Replaced, Base, Rest, Clock, currency] })).toEqual(
      [],
    )
  })

  it('reports a make with more arguments than inject has entries', () => {
    const make = (clock: Clock, other: Clock): unknown => [clock, other]
    expect(problemsOf({ providers: [Clock, { provide: 'pair', make, inject: [Clock] }] })).toEqual([
      [
        'UNREADABLE_DEPENDENCIES',
        'pair has a make that takes 2 arguments, but inject has 1 entry.',
        'List in `inject` the classes or tokens of all arguments of `make`, in order.',
      ],
    ])
  })

  it('suggests the inject of a factory for an entry that is not a token', () => {
    const inject = [undefined as unknown as string]
    expect(problemsOf({ providers: [{ provide: 'pair', make: () => [], inject }] })).toEqual([
      [
        'UNREADABLE_DEPENDENCIES',
        'pair has no token at position 1 of inject.',
        'List in `inject` the classes or tokens of all arguments of `make`, in order.',
      ],
    ])
  })

  it('names the cycle of providers that need each other', () => {
    class Hen {
      static inject = [() => Egg]
    }
    class Egg {
      static inject = [Hen]
    }
    expect(problemsOf({ providers: [Hen, Egg] })).toEqual([
      [
        'CIRCULAR_PROVIDERS',
        'Hen → Egg → Hen: these depend on each other in a circle.',
        'Move the shared part into a provider of its own.',
      ],
    ])
  })

  it.each<[string, () => Class, string]>([
    [
      'a constructor whose types were not emitted',
      () => {
        class Bare {
          constructor(readonly clock: Clock) {}
        }
        return Bare
      },
      'Bare takes 1 argument, whose types the compiler did not emit.',
    ],
    [
      'an argument of an interface',
      () => {
        @Injectable
        class Typed {
          constructor(readonly options: { a: number }) {}
        }
        return Typed
      },
      'Typed has argument 1 whose type is not a class (an interface, a type or a plain value).',
    ],
    [
      'a token that is not defined yet',
      () => {
        class Early {
          static inject = [undefined]
        }
        return Early
      },
      'Early has no token at position 1 of inject.',
    ],
  ])('explains %s', (_, make, message) => {
    const [problem] = problemsOf({ providers: [make()] })
    expect(problem?.slice(0, 2)).toEqual(['UNREADABLE_DEPENDENCIES', message])
    expect(problem?.[2]).toContain('static inject = [')
  })

  it.each<[string, Setup, string]>([
    [
      'one token provided in two ways',
      {
        providers: [
          { provide: 'a', use: 1 },
          { provide: 'a', use: 2 },
        ],
      },
      'DUPLICATE_PROVIDER',
    ],
    [
      'something that is not a provider',
      { providers: [undefined as unknown as Class] },
      'NOT_A_PROVIDER',
    ],
    ['an override of nothing', { override: [[Clock, {}]] }, 'UNKNOWN_OVERRIDE'],
  ])('refuses %s', (_, setup, code) => {
    expect(problemsOf(setup).map(([found]) => found)).toEqual([code])
  })
})

describe('Container.get', () => {
  it('suggests a provider when no provider has the token', () => {
    const { container } = create({ providers: [Clock] })
    expect(() => container.get('Clok')).toThrow('No module provides Clok. Did you mean Clock?')
  })
})

class Deferred {}
