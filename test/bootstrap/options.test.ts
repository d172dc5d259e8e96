/** Options of the wrong type: values that are not booleans, and invalid loggers. Source: public API, bootstrap. */
import { describe, expect, it } from '@jest/globals'
import { bootstrap, DeclarationError, Module, type BootstrapOptions } from '../../src/index.js'

@Module()
class EmptyModule {}

async function problemsOf(options: object): Promise<DeclarationError['problems']> {
  const allOptions: BootstrapOptions = { listen: false, logger: false, env: {}, ...options }
  const failure: unknown = await bootstrap(EmptyModule, allOptions).then(
    (app) => app.close(),
    (error: unknown) => error,
  )
  if (failure instanceof DeclarationError) return failure.problems
  if (failure === undefined) return []
  throw new Error('bootstrap fell over an option', { cause: failure })
}

describe('options of bootstrap in untyped programs', () => {
  // If 'false' from an environment variable counted as true, every client's X-Forwarded-For would be trusted.
  const proxies =
    'Give the number of proxies in front, 0 to 32. With true, every client could choose its address.'
  it.each([
    ['trustProxy', proxies],
    ['listen', 'Write true or false.'],
    ['client', 'Write true or false.'],
    ['requestContext', 'Write true or false.'],
  ])('refuses text for %s', async (name, remedy) => {
    expect(await problemsOf({ [name]: 'false' })).toEqual([
      { code: 'INVALID_OPTION', message: `bootstrap: ${name} is "false".`, remedy },
    ])
  })

  it('refuses a number for a host', async () => {
    expect(await problemsOf({ host: 127 })).toEqual([
      {
        code: 'INVALID_OPTION',
        message: 'bootstrap: host is 127.',
        remedy: "Give a name or an address, such as '127.0.0.1'.",
      },
    ])
  })

  it.each([
    ['null', null],
    ['a function', () => undefined],
    ['an empty object', {}],
  ])('refuses %s for a logger', async (_name, logger) => {
    expect(await problemsOf({ logger })).toEqual([
      {
        code: 'INVALID_OPTION',
        message: 'bootstrap: logger has no method error, warn, info, debug.',
        remedy: 'Give a pino logger, or false.',
      },
    ])
  })

  it('treats undefined as not given', async () => {
    const nothing = { trustProxy: undefined, client: undefined, host: undefined, logger: undefined }
    const inside = { limits: { body: undefined }, times: { handler: undefined } }
    expect(await problemsOf({ ...nothing, ...inside, env: { LOG_LEVEL: 'silent' } })).toEqual([])
  })
})
