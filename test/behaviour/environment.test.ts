/** Source: public API, 1 and 2. Titles begin with the statement that they check. */
import { describe, expect, it } from '@jest/globals'
import { bootstrap, type BootstrapOptions } from '../../src/index.js'
import { ShopModule } from './shop-module.js'

const quiet: BootstrapOptions = { listen: false, logger: false, env: {} }

describe('Environment and log', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    ['PORT', { PORT: 'eighty' }, /PORT: "eighty" is not a port\. +Set a number from 0 to 65535/],
    [
      'LOG_FORMAT',
      { LOG_FORMAT: 'yaml' },
      /LOG_FORMAT: "yaml" is not a format\. +Set json or text\./,
    ],
    ['LOG_LEVEL', { LOG_LEVEL: 'wran' }, /LOG_LEVEL: "wran" is not a level\. +Set warn\./],
  ])('Environment: an invalid %s is refused and named', async (_, env, message) => {
    await expect(bootstrap(ShopModule, { ...quiet, env })).rejects.toThrow(message)
  })

  it('Environment: PORT and HOST set the address, options win, a blank value is ignored', async () => {
    const env = { PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: ' ' }
    await using app = await bootstrap(ShopModule, { logger: false, env })
    expect(app.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    expect(await (await fetch(`${app.url}/shop/now`)).json()).toEqual({ now: 7 })
    const usedAddress = { PORT: new URL(app.url).port, HOST: '127.0.0.1' }
    await using other = await bootstrap(ShopModule, { logger: false, env: usedAddress, port: 0 })
    expect(other.url).not.toBe(app.url)
  })

  it('Environment: without HOST the application listens on every address of the machine', async () => {
    await using app = await bootstrap(ShopModule, { logger: false, env: { PORT: '0' } })
    expect(app.url).toMatch(/^http:\/\/localhost:\d+$/)
    const { port } = new URL(app.url)
    expect((await fetch(`http://127.0.0.1:${port}/shop/now`)).status).toBe(200)
  })

  it('Environment: all problems are in one report', async () => {
    const options = { ...quiet, env: { PORT: 'x' }, workers: 0, times: { handler: -1 } }
    await expect(bootstrap(ShopModule, options)).rejects.toThrow(
      /^Filigree cannot start: 3 problems\n 1 [^]*\n 2 [^]*\n 3 /,
    )
  })

  it('logger: a custom logger gets the line that the application is ready', async () => {
    const infoLines: [object, string][] = []
    const none = (): void => undefined
    const info = (details: object, message: string): void => {
      infoLines.push([details, message])
    }
    const logger = { error: none, warn: none, info, debug: none }
    await using app = await bootstrap(ShopModule, { ...quiet, logger })
    expect(app.routes.map(({ name }) => name)).toEqual(['ShopController.now'])
    expect(infoLines).toEqual([[expect.objectContaining({ routes: 1 }), 'ready']])
  })
})
