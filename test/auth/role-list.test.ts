/** `auth: { roles }`: a role that the list does not have is found at the start, wherever it is written. */
import { describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  DeclarationError,
  Field,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Post,
  Record as Table,
  Secured,
  type BootstrapOptions,
  type ModuleOptions,
} from '../../src/index.js'
import { admin } from '../../src/modules/admin/admin.js'
import { jobs } from '../../src/modules/jobs/jobs.js'
import { metrics } from '../../src/modules/metrics/metrics.js'
import { makePair } from './key-pair.js'

const roles = ['admin', 'desk']

async function problemsOf(
  module: ModuleOptions,
  options: BootstrapOptions = { auth: { roles } },
): Promise<{ code: string; message: string; remedy: string }[]> {
  class TestModule {}
  Module(module)(TestModule)
  const base = { listen: false, logger: false, env: {}, database: 'sqlite::memory:' } as const
  try {
    await (await bootstrap(TestModule, { ...base, ...options })).close()
    return []
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return [...error.problems]
  }
}

const unknown = (where: string, role: string, remedy: string) => ({
  code: 'ROLE_UNKNOWN',
  message: `${where}: the role "${role}" is not in auth.roles.`,
  remedy: `${remedy} Otherwise add it to bootstrap auth.roles.`,
})

@Secured('amdin')
@Controller('/tickets')
class TicketController {
  @Get('/')
  list(): string {
    return ''
  }

  @Secured({ roles: ['desk', 'billing'], all: true })
  @Post('/close')
  close(): string {
    return ''
  }
}

class Pay {
  @Secured('dsek') @Field('integer') amount!: number
}

@NoAuth
@Controller('/pay')
class PayController {
  @Get('/', { returns: Pay })
  show(): Pay {
    return Object.assign(new Pay(), { amount: 1 })
  }
}

@Secured('clerk')
@Table({ writes: { create: 'desk', update: ['admin', 'chief'] } })
class Account {
  @Field('id') id!: number
  @Field('string', { writes: 'owner' }) owner!: string
  @Secured('auditor') @Field('string') note!: string
}

describe('auth.roles', () => {
  it('reports an unknown role of decorators, with a suggestion or the list', async () => {
    expect(await problemsOf({ controllers: [TicketController] })).toEqual([
      unknown('TicketController', 'amdin', 'Did you mean "admin"?'),
      unknown('TicketController.close', 'billing', 'Roles: admin, desk.'),
    ])
  })

  it('reports unknown roles of records, of their fields and of responses', async () => {
    expect(await problemsOf({ controllers: [PayController], records: [Account] })).toEqual([
      unknown('Pay.amount', 'dsek', 'Did you mean "desk"?'),
      unknown('Account', 'clerk', 'Roles: admin, desk.'),
      unknown('Account', 'chief', 'Roles: admin, desk.'),
      unknown('Account.note', 'auditor', 'Roles: admin, desk.'),
      unknown('Account.owner', 'owner', 'Roles: admin, desk.'),
    ])
  })

  it('reports unknown roles of GraphQL, documentation and packages, each once', async () => {
    @Table
    class Room {
      @Field('id') id!: number
    }
    const schema = new GraphQL()
    schema.schema.addQuery('stock', { type: 'Int', secured: 'stock', resolve: () => 1 })
    schema.registerRoute('/other', { secured: ['visitor'] })
    const map = { path: 'map', title: 'Map', script: '/map.js', roles: 'planner' }
    const page = admin({
      path: '/admin',
      roles: 'administrator',
      records: [Room],
      login: { path: '/login' },
      pages: [map],
    })
    const problems = await problemsOf(
      {
        graphql: [schema],
        records: [Room],
        imports: [page, jobs({ roles: 'ops' }), metrics({ secured: 'monitor' })],
      },
      { auth: { roles }, docs: { secured: 'reader' }, graphql: { secured: 'guest' } },
    )
    expect(problems.map(({ message }) => message)).toEqual([
      'GraphQL at /graphql: the role "guest" is not in auth.roles.',
      'GraphQL at /other: the role "visitor" is not in auth.roles.',
      'GraphQL stock: the role "stock" is not in auth.roles.',
      'bootstrap docs.secured: the role "reader" is not in auth.roles.',
      'admin: the role "administrator" is not in auth.roles.',
      'admin: the role "planner" is not in auth.roles.',
      'jobs: the role "ops" is not in auth.roles.',
      'metrics: the role "monitor" is not in auth.roles.',
    ])
  })

  it('names at most three places of a role', async () => {
    @Controller('/many')
    class ManyController {
      @Secured('x')
      @Get('/a')
      a(): string {
        return ''
      }
    }
    for (const name of ['b', 'c', 'd', 'e']) {
      Object.defineProperty(ManyController.prototype, name, { value: () => '', writable: true })
      const descriptor = Object.getOwnPropertyDescriptor(ManyController.prototype, name)!
      Get(`/${name}`)(ManyController.prototype, name, descriptor)
      Secured('x')(ManyController.prototype, name, descriptor)
    }
    expect(await problemsOf({ controllers: [ManyController] })).toEqual([
      unknown(
        'ManyController.a, ManyController.b, ManyController.c and 2 more',
        'x',
        'Roles: admin, desk.',
      ),
    ])
  })

  it('is reported together with other problems', async () => {
    @Controller('/a')
    class OtherController {
      @Get('/<id:integer>')
      show(): string {
        return ''
      }
    }
    const problems = await problemsOf({ controllers: [TicketController, OtherController] })
    expect(problems.map(({ code }) => code)).toEqual([
      'UNKNOWN_PATH_TYPE',
      'ROLE_UNKNOWN',
      'ROLE_UNKNOWN',
    ])
  })

  it('admits every role if there is no list', async () => {
    const module = { controllers: [TicketController], records: [Account] }
    expect(await problemsOf(module, {})).toEqual([])
  })

  it.each([['admin'], [[]], [[1]], [['']]])('refuses %j', async (value) => {
    expect(await problemsOf({}, { auth: { roles: value as never } })).toMatchObject([
      {
        code: 'INVALID_OPTION',
        remedy: "List all roles of the application: ['admin', 'desk'].",
      },
    ])
  })

  it('warns once of a role in a token that the application issues, and accepts the token', async () => {
    const lines: unknown[] = []
    const ignore = (): void => undefined
    const logger = {
      error: ignore,
      info: ignore,
      debug: ignore,
      warn: (fields: unknown, text: string) => lines.push([fields, text]),
    }
    @Module({})
    class AppModule {}
    const env = { APP_PRIVATE_KEY: makePair().privatePem }
    const options = { listen: false, logger, env } as unknown as BootstrapOptions
    const app = await bootstrap(AppModule, { ...options, auth: { roles } })
    const auth = app.get(Auth)
    const token = await auth.getToken({ sub: '7', roles: ['admin', 'dsek'] })
    await auth.getToken({ sub: '8', roles: ['dsek'] })
    expect(await auth.verify(token)).toMatchObject({ roles: ['admin', 'dsek'] })
    await app.close()
    expect(lines).toEqual([
      [
        { code: 'ROLE_UNKNOWN', role: 'dsek' },
        'a token was issued with the role "dsek", which is not in auth.roles. Did you mean "desk"? Otherwise add it to bootstrap auth.roles.',
      ],
    ])
  })
})
