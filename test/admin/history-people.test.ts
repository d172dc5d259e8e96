/** The admin's history names people by the title of their row where the page shows their record. */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Claims,
  type DeclarationError,
} from 'filigree'
import { Admin, admin, type AdminOptions } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'

@Record<Person>({ rows: (user: Claims | null) => user !== null && { hiddenAt: null } })
class Person {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { unique: true }) email!: string
  @Field('datetime', { nullable: true, optional: true }) hiddenAt?: string | null
}

@Record({ writes: 'admin' })
@Admin({ history: true })
class Note {
  @Field('id') id!: number
  @Field('string') subject!: string
}

@Controller('/login')
class LoginController {
  @Post('/', { body: Note }) @NoAuth signIn(): object {
    return {}
  }
}

function moduleWith(people: AdminOptions['people']): new () => object {
  const page = {
    path: '/admin',
    roles: 'admin',
    records: [Person, Note],
    login: { path: '/login' },
  }
  @Module({
    controllers: [LoginController],
    records: [Person, Note],
    imports: [admin({ ...page, ...(people === undefined ? {} : { people }) })],
  })
  class AppModule {}
  return AppModule
}

let desk: TestApplication
afterEach(() => desk.close())

/** The history of a note that these people have written, the earliest first. */
async function historyOf(people: AdminOptions['people'], subs: readonly string[]) {
  desk = await testApplication(moduleWith(people))
  await desk.records(Person).create({ name: 'Ann Adams', email: 'ann@desk.example' })
  await desk
    .records(Person)
    .create({ name: 'Ed', email: 'ed@desk.example', hiddenAt: '2026-01-01T00:00:00Z' })
  for (const sub of subs)
    await desk.as({ sub, roles: ['admin'] }).post('/admin/api/rows/notes', { subject: 'One' })
  await desk.records(Note).create({ subject: 'By the program' })
  const reader = desk.as({ sub: 'reader', roles: ['admin'] })
  const { body } = await reader.get('/admin/api/history/notes')
  const { rows } = body as { rows: { by: string; person?: string }[] }
  return rows.map(({ by, person }) => [by, person]).reverse()
}

describe('people in the history', () => {
  it('have the title of their row, found by its key, and their sub where the reader sees none', async () => {
    expect(await historyOf(Person, ['1', '2', '3', 'ann'])).toEqual([
      ['1', 'Ann Adams'],
      ['2', undefined],
      ['3', undefined],
      ['ann', undefined],
      ['program', undefined],
    ])
  })

  it('name the caller of the schema, who is shown in the header of the page', async () => {
    await historyOf(Person, [])
    const callerOf = async (sub: string): Promise<unknown> => {
      const { body } = await desk.as({ sub, roles: ['admin'] }).get('/admin/api/schema')
      return (body as { caller: unknown }).caller
    }
    expect(await callerOf('1')).toEqual({ sub: '1', name: 'Ann Adams' })
    expect(await callerOf('2')).toEqual({ sub: '2' })
    expect(await callerOf('reader')).toEqual({ sub: 'reader' })
  })

  it('are found by the field that holds their sub', async () => {
    const subs = ['ann@desk.example', 'ed@desk.example', '1']
    expect(await historyOf([() => Person, 'email'], subs)).toEqual([
      ['ann@desk.example', 'Ann Adams'],
      ['ed@desk.example', undefined],
      ['1', undefined],
      ['program', undefined],
    ])
  })

  it('have their sub where the page is not told of their record', async () => {
    expect(await historyOf(undefined, ['1'])).toEqual([
      ['1', undefined],
      ['program', undefined],
    ])
  })
})

it.each<[string, unknown, string]>([
  ['no record of the page', LoginController, 'people is not a record of the page'],
  ['a field that there is not', [Person, 'mail'], 'people names "mail"'],
  ['a field that is not text', [Person, 'id'], 'people names "id"'],
])('people that name %s stop the start', async (_what, people, message) => {
  const module = moduleWith(people as AdminOptions['people'])
  const options = { listen: false, logger: false, env: {}, database: 'sqlite::memory:' } as const
  const failure = await bootstrap(module, options).catch((error: unknown) => error)
  expect((failure as DeclarationError).problems.map((problem) => problem.message)).toEqual([
    expect.stringContaining(message),
  ])
})
