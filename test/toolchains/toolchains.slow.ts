import type { Problem } from '../../src/index.js'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { toolchains } from './toolchains.js'

interface Printed {
  readonly answers: readonly { status: number; body: string }[]
  readonly schemas: Readonly<Record<string, { properties: object; required?: string[] }>>
}

const printed = new Map<string, string>()

beforeAll(async () => {
  for (const { name, prepare, print } of toolchains) {
    await prepare()
    printed.set(name, await print('main'))
  }
})

describe('an application in explicit forms', () => {
  const [first, ...otherToolchains] = toolchains

  it(`compiled by ${first?.name ?? ''} gives the expected responses`, () => {
    const { answers, schemas } = JSON.parse(printed.get('tsc 6') ?? '') as Printed
    expect(answers.map(({ status }) => status)).toEqual([
      401, 201, 400, 400, 200, 200, 404, 200, 400, 200, 201, 400, 401, 200,
    ])
    expect(JSON.parse(answers[1]?.body ?? '')).toEqual({
      id: 1,
      customer: 'Ada',
      express: false,
      copies: 3,
      lines: [{ sku: 'lamp', qty: 2 }],
      mail: 'ada@example.org',
    })
    expect(JSON.parse(answers[2]?.body ?? '')).toMatchObject({
      error:
        'customer must be a string; express must be true or false; lines.0.sku is required; ' +
        'lines.0.qty must be at least 1; mial is unknown. Did you mean "mail"?',
    })
    expect(answers[4]?.body).toBe('["2 × lamp"]')
    expect(answers[8]?.body).toContain('limit must be an integer; express must be true or false')
    expect(JSON.parse(answers[13]?.body ?? '')).toEqual({
      data: {
        lamps: [{ name: 'Blue', twice: 10, shelf: { name: 'top' } }],
        shelf: { lamps: [{ price: 5 }] },
      },
    })
    expect(schemas.NewOrder?.required).toEqual(['customer', 'lines'])
  })

  it.each(otherToolchains.map(({ name }) => name))(
    'compiled by %s answers the same, to the letter',
    (name) => {
      expect(JSON.parse(printed.get(name) ?? '')).toEqual(JSON.parse(printed.get('tsc 6') ?? ''))
    },
  )
})

describe('a field that leaves its kind to the compiler', () => {
  it.each(toolchains)(
    'is refused with $name by a message with class, field and explicit form',
    async ({ emitsTypes, print }) => {
      const problems = JSON.parse(await print('faulty')) as Problem[]
      const reported = problems.map(({ code, message, remedy }) => `${code} ${message} ${remedy}`)
      const silent = (field: string): string =>
        `FIELD_TYPE_MISSING Thing.${field}: @Field() has no kind, and this compiler emits no types. Write the kind: @Field('string').`
      expect(reported).toEqual(
        emitsTypes
          ? [
              "FIELD_TYPE_MISSING Thing.size: @Field() cannot distinguish integers from other numbers. Write @Field('integer') or @Field('numeric').",
              "FIELD_TYPE_MISSING Thing.tags: @Field() cannot determine the type of the list items. Write @Field('string', { list: true }) or @Field(() => Line, { list: true }).",
            ]
          : ['name', 'size', 'tags'].map(silent),
      )
    },
  )
})
