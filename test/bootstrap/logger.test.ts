/** A logger that throws must not break requests. */
import { describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Get, Module } from '../../src/index.js'

@Controller
class TestController {
  @Get('/broken')
  broken() {
    throw new Error('no such table: stock')
  }
}

@Module({ controllers: [TestController] })
class TestModule {}

describe('a logger that throws', () => {
  const start = (error: (details: object, message: string) => void) => {
    const refuse = (): never => {
      throw new Error('The disk of the log is full.')
    }
    const logger = { error, warn: refuse, info: refuse, debug: refuse }
    return bootstrap(TestModule, { listen: false, logger, env: {} })
  }

  it('prevents no response, and not the start of the application', async () => {
    await using app = await start(() => {
      throw new Error('The disk of the log is full.')
    })
    const response = await app.inject({ url: '/broken' })
    expect(response.status).toBe(500)
    expect(response.json()).toEqual({
      error: 'Internal server error',
      code: 'INTERNAL_SERVER_ERROR',
    })
  })

  it('receives only the message where it cannot handle the details', async () => {
    const lines: string[] = []
    await using app = await start((details, message) => {
      if ('err' in details) throw new TypeError('That has no JSON.')
      lines.push(message)
    })
    await app.inject({ url: '/broken' })
    expect(lines).toEqual(['request failed; the details could not be logged'])
  })
})
