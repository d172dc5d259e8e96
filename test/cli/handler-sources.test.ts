/** Without emitted types, `filigree doctor` compares the sources of handlers with their routes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { planApplication } from '../../src/bootstrap/plan-application.js'
import { findHandlerMistakes } from '../../src/cli/handler-sources.js'
import { SourceIndex } from '../../src/cli/problem-location.js'
import { Controller, Field, Get, Module, Post, type AnyDecorator } from '../../src/index.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

class NewTicket {
  @Field('string') subject!: string
}

class Search {
  @Field('string') text!: string
}

/** The same classes as in the source below, as esbuild makes them: without types. */
class Tickets {
  show(id: never, other: never): unknown {
    return [id, other]
  }
  create(body: never, user: never): unknown {
    return [body, user]
  }
  known(body: never): unknown {
    return body
  }
  list(query: never): unknown {
    return query
  }
  fine(id: never, body: never, query: never): unknown {
    return [id, body, query]
  }
  generic(body: never): unknown {
    return body
  }
}

const source = `
import { NewTicket } from './new-ticket.js'

class Draft {
  @Field('string', { maxLength: 20 }) text!: string
}

class Page {
  @Field('integer') page!: number
}

@Controller('/tickets')
export class Tickets {
  @Get('/<id:int>/<other>')
  show(id: string, other: string): unknown {
    return [id, other]
  }

  @Post('/a', { body: NewTicket })
  async create(
    body: Draft, // not the declared (class)
    user: Claims | null = null,
  ): Promise<Map<string, number>> {
    return [body, user]
  }

  @Post('/b', { body: NewTicket }) known(body: Search): unknown {
    return body
  }

  @Get('/c')
  list(query: Page): unknown {
    return query
  }

  @Post('/d/<id:int>', { body: NewTicket })
  fine(id: number, body: Pick<NewTicket, 'subject'>, query: Record<string, string>): unknown {
    return [id, body, query]
  }

  @Post('/e', { body: NewTicket })
  generic<Body extends Draft>(body: Body): unknown {
    return body
  }
}
`

function apply(member: keyof Tickets, decorator: AnyDecorator): void {
  const descriptor = Object.getOwnPropertyDescriptor(Tickets.prototype, member)
  decorator(Tickets.prototype, member, descriptor)
}

it('reports types that differ from the declared ones, and nothing uncertain', async () => {
  apply('show', Get('/<id:int>/<other>'))
  apply('create', Post('/a', { body: NewTicket }))
  apply('known', Post('/b', { body: NewTicket }))
  apply('list', Get('/c'))
  apply('fine', Post('/d/<id:int>', { body: NewTicket }))
  apply('generic', Post('/e', { body: NewTicket }))
  Controller('/tickets')(Tickets)
  class Known {
    search(query: never): unknown {
      return query
    }
  }
  const search = Object.getOwnPropertyDescriptor(Known.prototype, 'search')
  Get('/', { query: Search })(Known.prototype, 'search', search)
  Controller('/search')(Known)
  class TestModule {}
  Module({ controllers: [Tickets, Known] })(TestModule)
  const file = join(folder, 'tickets.ts')
  await writeFile(file, source)
  const plan = await planApplication(TestModule, { logger: false, env: {} })
  const problems = findHandlerMistakes(plan, new SourceIndex([file]))
  expect(problems.map(({ message, remedy }) => `${message} ${remedy}`)).toEqual([
    'Tickets.show: id is a string, but <id:int> in /tickets/<id:int>/<other> is a number. Write id: number, or <id> in the path.',
    'Tickets.create: body is Draft, but the route declares { body: NewTicket }. NewTicket has no "text". Write body: NewTicket, or { body: Draft }.',
    'Tickets.known: body is Search, but the route declares { body: NewTicket }. NewTicket has no "text". Write body: NewTicket, or { body: Search }.',
    'Tickets.list: query is Page, but the route declares no class, so its values are unchecked texts. Write { query: Page } in the options of the route.',
  ])
})
