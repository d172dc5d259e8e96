/** The types of a handler's arguments fit what its route declares: its path, and the classes of body and query. */
import { describe, expect, it } from '@jest/globals'
import { IsOptional, IsString } from 'class-validator'
import {
  bootstrap,
  Controller,
  DeclarationError,
  Field,
  Get,
  Module,
  omit,
  partial,
  Post,
  type AnyDecorator,
  type ClassReference,
} from '../../src/index.js'

class Ticket {
  @Field('string') subject!: string
  @Field('integer', { optional: true }) priority?: number
}

class Draft {
  @Field('string') text!: string
}

async function problemsOf(controller: ClassReference): Promise<string[]> {
  class TestModule {}
  Module({ controllers: [controller] })(TestModule)
  try {
    await (await bootstrap(TestModule, { listen: false, logger: false, env: {} })).close()
    return []
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return error.problems.map(({ code, message, remedy }) => `${code} ${message} ${remedy}`)
  }
}

describe('path parameters', () => {
  it('are numbers or text, as their type in the path says', async () => {
    @Controller('/shops/<shop:int>')
    class ShopController {
      @Get('/items/<id:int>')
      item(id: string, shop: boolean): string {
        return `${id} ${shop}`
      }

      @Get('/names/<name>/<key:uuid>/<part:slug>')
      name(name: number, key: number, part: string[]): string {
        return `${name} ${key} ${part.join()}`
      }
    }
    expect(await problemsOf(ShopController)).toEqual([
      'ARGUMENT_TYPE ShopController.item: id is a string, but <id:int> in /shops/<shop:int>/items/<id:int> is a number. Write id: number, or <id> in the path.',
      'ARGUMENT_TYPE ShopController.item: shop is a boolean, but <shop:int> in /shops/<shop:int>/items/<id:int> is a number. Write shop: number.',
      'ARGUMENT_TYPE ShopController.name: name is a number, but <name> in /shops/<shop:int>/names/<name>/<key:uuid>/<part:slug> is a string. Write name: string, or <name:int> in the path.',
      'ARGUMENT_TYPE ShopController.name: key is a number, but <key:uuid> in /shops/<shop:int>/names/<name>/<key:uuid>/<part:slug> is a string. Write key: string, or <key:int> in the path.',
      'ARGUMENT_TYPE ShopController.name: part is a list, but <part:slug> in /shops/<shop:int>/names/<name>/<key:uuid>/<part:slug> is a string. Write part: string.',
    ])
  })
})

describe('the class of a body or query', () => {
  it('is the one that the route declares', async () => {
    class Changes extends partial(Ticket) {}
    class Rest extends omit(Ticket, 'subject') {}
    class Numbered {
      @Field('integer') subject!: number
    }
    class MayBeNull {
      @Field('string', { nullable: true }) subject!: string | null
    }
    @Controller('/tickets')
    class TicketController {
      @Post('/a', { body: Ticket })
      other(body: Draft): string {
        return body.text
      }

      @Post('/b', { body: Changes })
      absent(body: Ticket): string {
        return body.subject
      }

      @Post('/c', { body: Rest })
      omitted(body: Ticket): string {
        return body.subject
      }

      @Post('/d', { body: Numbered })
      kind(body: Ticket): string {
        return body.subject
      }

      @Post('/e', { body: MayBeNull })
      nullable(body: Ticket): string {
        return body.subject
      }

      @Post('/f', { body: [Ticket] })
      one(body: Ticket): string {
        return body.subject
      }

      @Post('/g', { body: Ticket })
      many(body: Ticket[]): number {
        return body.length
      }

      @Post('/h', { body: Ticket })
      text(body: string): string {
        return body
      }

      @Get('/i', { query: Ticket })
      query(query: Draft): string {
        return query.text
      }
    }
    const problems = await problemsOf(TicketController)
    expect(problems.map((text) => text.replace(/^ARGUMENT_TYPE TicketController\./, ''))).toEqual([
      'other: body is Draft, but the route declares { body: Ticket }. Ticket has no "text". Write body: Ticket, or { body: Draft }.',
      'absent: body is Ticket, but the route declares { body: Changes }. "subject" may be absent in Changes. Write body: Changes, or { body: Ticket }.',
      'omitted: body is Ticket, but the route declares { body: Rest }. Rest has no "subject". Write body: Rest, or { body: Ticket }.',
      'kind: body is Ticket, but the route declares { body: Numbered }. "subject" has another type in Numbered. Write body: Numbered, or { body: Ticket }.',
      'nullable: body is Ticket, but the route declares { body: MayBeNull }. "subject" may be null in MayBeNull. Write body: MayBeNull, or { body: Ticket }.',
      'one: body is Ticket, but the route declares { body: [Ticket] }. Write body: Ticket[], or { body: Ticket }.',
      'many: body is a list, but the route declares { body: Ticket }. Write body: Ticket, or { body: [Ticket] } for a list.',
      'text: body is a string, but the route declares { body: Ticket }. Write body: Ticket.',
      'query: query is Draft, but the route declares { query: Ticket }. Ticket has no "text". Write query: Ticket, or { query: Draft }.',
    ])
  })

  it('has fields', async () => {
    class Empty {
      page!: number
    }
    @Controller('/tickets')
    class TicketController {
      @Get('/a')
      list(query: Empty): number {
        return query.page
      }

      @Get('/b')
      text(query: string): string {
        return query
      }
    }
    expect(await problemsOf(TicketController)).toEqual([
      'ARGUMENT_TYPE TicketController.list: query is Empty, but the route declares no class, so its values are unchecked texts. Write @Field(…) before the properties of Empty.',
      'ARGUMENT_TYPE TicketController.text: query is a string, but the route declares no class, so its values are unchecked texts. Write query: Record<string, string>, or a class.',
    ])
  })
})

describe('types that are not certain', () => {
  interface Subject {
    readonly subject: string
  }
  class Base {
    @Field('string') subject!: string
  }
  class WithMore extends Base {
    @Field('string') more!: string
  }
  class Validated {
    @IsString() subject!: string
    @IsOptional() @IsString() note?: string
  }

  it('are not compared: interfaces, unions, any, a base class, an equal class', async () => {
    @Controller('/tickets/<org>')
    class TicketController {
      @Post('/a/<id:int>', { body: Ticket })
      union(id: number | string, body: Subject | null, org: 'x' | 'y'): unknown {
        return [id, body, org]
      }

      @Post('/b/<id:int>', { body: Ticket })
      // eslint-disable-next-line @typescript-eslint/no-explicit-any -- handlers may take any
      anything(id: any, body: any, org: unknown): unknown {
        return [id, body, org] as unknown[]
      }

      @Post('/c', { body: WithMore })
      base(body: Base): string {
        return body.subject
      }

      @Post('/d', { body: Base })
      validated(body: Validated): string {
        return body.subject
      }

      @Post('/e', { body: Object })
      object(body: Draft): unknown {
        return body
      }

      @Post('/f', { body: [Ticket] })
      list(body: readonly Ticket[]): unknown {
        return body
      }

      @Get('/g')
      query(query: Record<string, string>): unknown {
        return query
      }
    }
    expect(await problemsOf(TicketController)).toEqual([])
  })

  it('are not compared: inherited, overridden and wrapped handlers, generics', async () => {
    abstract class Resource<Body> {
      @Post('/a', { body: Ticket })
      create(body: Body): Body {
        return body
      }

      @Get('/<id:int>')
      show(id: number): unknown {
        return id
      }

      @Post('/<id:int>/wrapped', { body: Ticket })
      @wrapped
      wrap(text: string, body: Ticket): unknown {
        return [text, body]
      }
    }
    @Controller('/tickets')
    class TicketController extends Resource<Ticket> {
      override create(body: Ticket): Ticket {
        return body
      }

      override show(id: number | string): unknown {
        return id
      }
    }
    expect(await problemsOf(TicketController)).toEqual([])
  })
})

/** Replaces the method by one with other arguments. */
const wrapped: AnyDecorator = ((
  _target: object,
  _member: string,
  descriptor: PropertyDescriptor,
) => {
  descriptor.value = (id: number, body: Ticket) => [id, body]
}) as AnyDecorator
