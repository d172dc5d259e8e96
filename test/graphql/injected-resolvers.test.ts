import { describe, expect, it } from '@jest/globals'
import { bootstrap, DeclarationError, GraphQL, Module } from 'filigree'

class Rates {
  instances = 0
  of(currency: string): number {
    return currency === 'EUR' ? 1 : 1.1
  }
}

class RateResolver {
  static inject = [Rates]
  readonly #rates: Rates
  constructor(rates: Rates) {
    this.#rates = rates
    rates.instances++
  }
  resolve(_root: unknown, { currency }: { currency?: string }): number {
    return this.#rates.of(currency ?? 'EUR')
  }
}

function schemaOf(): GraphQL {
  const graphql = new GraphQL()
  graphql.schema.addType('Pair', { from: 'String' })
  graphql.schema.addField('Pair', 'rate', {
    type: 'Float',
    inject: [Rates],
    resolve: (root: unknown, _args: unknown, _context: unknown, rates: Rates) =>
      rates.of((root as { from: string }).from),
  })
  graphql.schema.addQuery('pair', { type: 'Pair', resolve: () => ({ from: 'USD' }) })
  graphql.schema.addQuery('rate', {
    type: 'Float',
    args: { currency: 'String' },
    resolve: RateResolver,
  })
  graphql.schema.addQuery('twice', {
    type: 'Float',
    inject: [Rates, 'factor'],
    resolve: (_root, _args, _context, rates: Rates, factor: number) => rates.of('USD') * factor,
  })
  graphql.registerRoute('/rates')
  return graphql
}

describe('hand-made resolvers', () => {
  it('receive providers, as a class with static inject or by inject', async () => {
    @Module({ providers: [Rates, { provide: 'factor', use: 2 }], graphql: [schemaOf()] })
    class RateModule {}
    await using app = await bootstrap(RateModule, { listen: false, logger: false })
    const execute = async (query: string): Promise<unknown> =>
      (await app.inject({ method: 'POST', url: '/rates', json: { query } })).json()
    const query = '{ rate usd: rate(currency: "USD") twice pair { rate } }'
    const data = { rate: 1, usd: 1.1, twice: 2.2, pair: { rate: 1.1 } }
    expect(await execute(query)).toEqual({ data })
    expect(await execute(query)).toEqual({ data })
    expect(app.get(Rates).instances).toBe(1)
  })

  it('are refused at the start where a provider is missing', async () => {
    @Module({ providers: [Rates], graphql: [schemaOf()] })
    class RateModule {}
    const starting = bootstrap(RateModule, { listen: false, logger: false })
    const problems = await starting.then(
      () => [],
      (error: unknown) => (error as DeclarationError).problems,
    )
    expect(problems.map(({ message }) => message)).toEqual([
      'the resolver of Query "twice" needs factor, which no module provides.',
    ])
  })

  it('report that they need an application where there is none', async () => {
    const { data, errors } = await schemaOf().execute('{ rate }')
    expect(data).toEqual({ rate: null })
    expect(errors).toHaveLength(1)
  })
})
