/** Tools of records with keys of several fields. Source: decisions, Existing databases and copy. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Controller, Module, NoAuth } from 'filigree'
import { mcp, Tool } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { composites, Sale, Tag } from '../../records/composite-records.js'
import { call, toolsOf } from './mcp-requests.js'

@Tool()
@Controller('/tags', { crud: Tag })
@NoAuth
class TagController {}

@Module({ records: composites, controllers: [TagController], imports: [mcp()] })
class Shop {}

describe('tools for rows with a key of several fields', () => {
  let app: TestApplication
  beforeAll(async () => {
    app = await testApplication(Shop)
    await app.records(Sale).create({ customer: 'Ada' })
  })
  afterAll(() => app.close())

  it('have an argument for each field of the key', async () => {
    const tools = new Map((await toolsOf(app)).map((tool) => [tool.name, tool.inputSchema]))
    for (const name of ['tagFind', 'tagUpdate', 'tagDelete']) {
      const schema = tools.get(name) as { properties: object; required: string[] }
      expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(['country', 'code']))
      expect(schema.properties).not.toHaveProperty('id')
      expect(schema.required).toEqual(expect.arrayContaining(['country', 'code']))
    }
  })

  it('create, find, change and delete rows', async () => {
    const run = async (name: string, input: object): Promise<string> =>
      (await call(app, name, input)).result?.content?.[0]?.text ?? ''
    const key = { country: 'a,b/c', code: '9007199254740993' }
    await run('tagCreate', { ...key, name: 'new' })
    expect(JSON.parse(await run('tagFind', key))).toEqual({ ...key, name: 'new' })
    expect(JSON.parse(await run('tagUpdate', { ...key, name: 'old' }))).toMatchObject({
      name: 'old',
    })
    expect(await run('tagFind', { country: 'a', code: 'x' })).toMatch(/^404/)
    expect(await run('tagDelete', key)).toBe('Done.')
    expect(await run('tagFind', key)).toMatch(/^404/)
  })
})
