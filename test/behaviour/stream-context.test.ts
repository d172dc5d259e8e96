/** The asynchronous context of what a handler returns. Source: decisions, Interceptors. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createDecorator,
  events,
  Get,
  Live,
  Module,
  reply,
  type Application,
  type HttpRequest,
  type InterceptorPosition,
  type Next,
} from 'filigree'

const tenant = new AsyncLocalStorage<string>()

/** Calls the handler with a value in an `AsyncLocalStorage`. */
const InTenant = createDecorator('InTenant', (name: string, before: InterceptorPosition) => ({
  before,
  intercept: () => (_request: HttpRequest, next: Next) => tenant.run(name, next),
}))

async function* names(): AsyncGenerator<string> {
  yield `${tenant.getStore() ?? 'none'} `
  await nextTurn()
  yield `${tenant.getStore() ?? 'none'} `
}

function* namesInTurn(): Generator<string> {
  yield `${tenant.getStore() ?? 'none'} `
  yield `${tenant.getStore() ?? 'none'} `
}

class Streams {
  @Get('/generator') generator() {
    return names()
  }
  @Get('/late') async late() {
    await nextTurn()
    return names()
  }
  @Get('/synchronous') synchronous() {
    return namesInTurn()
  }
  @Get('/reply') reply() {
    return reply(names()).type('text/plain')
  }
  @Get('/events') events() {
    return events(names())
  }
  @Get('/live') @Live live() {
    return { tenant: tenant.getStore() ?? 'none' }
  }
}

@Controller('/gate')
@InTenant('a', 'gate')
class AtGate extends Streams {}
@Controller('/body')
@InTenant('b', 'body')
class AtBody extends Streams {}
@Controller('/handler')
@InTenant('c', 'handler')
class AtHandler extends Streams {}
@Controller('/nested')
@InTenant('outer', 'gate')
@InTenant('d', 'handler')
class Nested extends Streams {}
@Controller('/plain')
class Plain extends Streams {}

@Module({ controllers: [AtGate, AtBody, AtHandler, Nested, Plain] })
class AppModule {}

describe('what a handler returns is read in the context of the handler', () => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
  })
  afterAll(() => app.close())

  const routes = ['generator', 'late', 'synchronous', 'reply', 'events'] as const
  it.each(
    routes.flatMap((route) => [
      [`/gate/${route}`, 'a'],
      [`/body/${route}`, 'b'],
      [`/handler/${route}`, 'c'],
      [`/nested/${route}`, 'd'],
      [`/plain/${route}`, 'none'],
    ]),
  )('%s reads %s', async (path, name) => {
    const text = await (await fetch(app.url + path)).text()
    expect(text.match(/\b(?:[abcd]|none|outer)\b/g)).toEqual([name, name])
  })

  it.each([
    ['/handler', 'c'],
    ['/nested', 'd'],
    ['/plain', 'none'],
  ])('the live query of %s reads %s', async (path, name) => {
    const response = await fetch(`${app.url}${path}/live`, {
      headers: { accept: 'text/event-stream' },
    })
    const reader = response.body!.getReader()
    let text = ''
    while (!text.includes('"tenant"')) text += new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()
    expect(text).toContain(`"tenant":"${name}"`)
  })
})
