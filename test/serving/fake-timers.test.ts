/**
 * Fake timers that would make applications wait for ever are an error. Source: docs/testing.md.
 *
 * @jest-environment node
 */
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { bootstrap, Controller, Get, Module } from '../../src/index.js'

@Controller
class HelloController {
  @Get('/')
  hello() {
    return { hello: true }
  }
}

@Module({ controllers: [HelloController] })
class HelloModule {}

const options = { listen: false, logger: false, env: {} }
const message = /^Fake timers replace nextTick, setImmediate, queueMicrotask, so applications would/

afterEach(() => {
  jest.useRealTimers()
})

describe('fake timers', () => {
  it('prevent the start of an application with an error', async () => {
    jest.useFakeTimers()
    await expect(bootstrap(HelloModule, options)).rejects.toThrow(message)
  })

  it('end a request with an error', async () => {
    await using app = await bootstrap(HelloModule, options)
    jest.useFakeTimers()
    await expect(app.inject('/')).rejects.toThrow(message)
    jest.useRealTimers()
  })

  it('are allowed where they leave nextTick, setImmediate and queueMicrotask', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] })
    await using app = await bootstrap(HelloModule, options)
    expect((await app.inject('/')).json()).toEqual({ hello: true })
    jest.useRealTimers()
  })
})
