/** A new kind of field on the admin page: what its file says is all that the page needs. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { describeFields, Field, Module, Record, type Presentation } from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import ts from 'typescript'
import { expandSchema, type CompactSchema, type KindInfo } from '../../client/admin/schema.js'
import { kinds } from '../fields/compiled.js'
import { addMoney } from '../contracts/kind-samples.js'
import type { KindName } from '../public-types.js'
import { root } from '../repository/source-files.js'
import { OpenLogin } from './open-login.js'

addMoney()

@Record
@Admin({ title: 'name' })
class Bill {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('money' as KindName) total!: number
  @Field('money' as KindName, { list: true }) parts!: number[]
}

class Values {
  @Field('enum', { oneOf: ['open', 'closed'] }) state!: string
  @Field('id', { key: 'uuid' }) key!: string
  @Field('decimal', { precision: 6, scale: 2 }) price!: string
  @Field('blob') file!: Buffer
  @Field(() => Bill) bill!: Bill
}

@Module({
  controllers: [OpenLogin],
  records: [Bill],
  imports: [admin({ path: '/admin', roles: 'clerk', records: [Bill], login: { path: '/login' } })],
})
class App {}

/** The places where a file compares a value with the name of a kind. */
function findKindNames(path: string): string[] {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const names = new Set(Object.keys(kinds).filter((name) => name !== 'id'))
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const { parent } = node
    const isCompared =
      ts.isStringLiteral(node) &&
      names.has(node.text) &&
      (ts.isCaseClause(parent) || ts.isArrayLiteralExpression(parent) || isComparison(parent))
    if (isCompared) found.push(`${path}: ${parent.getText(source)}`)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Not `typeof value === 'string'`. */
const isComparison = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) && !ts.isTypeOfExpression(node.left)

/** The schema of the page has the members that the server documents, and no others. */
const asPresentation = (kind: KindInfo): Omit<Presentation, 'pattern'> => kind
const asKind = (presentation: Presentation): KindInfo => presentation

describe('a new kind on the admin page', () => {
  let app: TestApplication
  beforeAll(async () => {
    app = await testApplication(App, { database: 'sqlite::memory:' })
  })
  afterAll(() => app.close())
  const clerk = () => app.as({ sub: 'clerk', roles: ['clerk'] })

  it('has the defaults of its JSON type and its comparisons', () => {
    expect(describeFields(Bill).find(({ name }) => name === 'total')?.presentation).toEqual({
      ...{ control: 'line', type: 'text', isFreeText: false, filter: 'range', format: 'text' },
      ...{ label: 'an amount such as 12.50', pattern: '^-?\\d{1,12}\\.\\d{2}$' },
      ...{ comparison: 'text', measure: 'characters', chart: 'groups' },
    })
  })

  it.each([
    // A pattern of an enum is a 400, so its rows are searched by the complete word.
    ['state', { control: 'line', isFreeText: false, filter: 'range' }],
    ['key', { control: 'line', filter: 'equals', label: 'a UUID' }],
    ['price', { control: 'decimal', type: 'text', comparison: 'number', chart: 'numbers' }],
    [
      'price',
      { label: expect.stringContaining('4 digits before the point and 2 digits after it') },
    ],
    ['file', { control: 'file', measure: 'bytes', filter: 'none', format: 'size' }],
    ['bill', { control: 'json', type: 'json', filter: 'none', format: 'text' }],
  ])('leaves %s as its own kind presents it', (name, expected) => {
    const field = describeFields(Values).find((one) => one.name === name)
    expect(field?.presentation).toMatchObject(expected)
  })

  it('comes to the page with the schema, once for all its fields', async () => {
    const { body } = await clerk().get('/admin/api/schema')
    const compact = body as unknown as CompactSchema
    expect(compact.kinds.map(({ label }) => label)).toEqual([
      ...['an integer id', 'a string', 'an amount such as 12.50'],
    ])
    const fields = expandSchema(compact).records[0]?.fields ?? []
    const [id, name, total, parts] = fields.map(({ kind }) => kind)
    expect(asPresentation(total!)).toEqual(asKind(describeFields(Bill)[1]!.presentation))
    expect(parts).toBe(total)
    expect([id?.control, name?.control]).toEqual(['integer', 'line'])
    expect(fields[2]).toMatchObject({ required: true, order: true })
  })

  it('is imported and exported', async () => {
    const headers = { 'content-type': 'text/csv' }
    const send = (file: string) => clerk().post('/admin/api/csv/bills', file, { headers })
    expect((await send('name,total,parts\nLamp,12.50,"[""1.00""]"\n')).body).toEqual({ count: 1 })
    expect((await clerk().get('/admin/api/csv/bills')).text).toBe(
      'id,name,total,parts\r\n1,Lamp,12.50,"[""1.00""]"\r\n',
    )
    const { faults } = (await send('name,total,parts\nLamp,a lot,[]\n')).body
    expect(faults).toEqual([
      { row: 2, path: 'total', code: 'type', message: 'total must be an amount such as 12.50' },
    ])
  })

  it('needs no file of the page, because none compares the names of kinds', () => {
    const folder = join(root, 'client/admin')
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
    expect(files.length).toBeGreaterThan(30)
    expect(files.flatMap((name) => findKindNames(join(folder, name)))).toEqual([])
  })
})
