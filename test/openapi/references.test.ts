/** Every reference of a document leads to a part of it. The page reports one that does not in the browser's console. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, type Application, type BootstrapOptions } from 'filigree'
import { AppModule } from '../cli/routes/app.js'
import { Desk } from '../admin/desk.js'
import { Office } from '../records/sharded-office.js'
import { startAtlas } from '../samples/small-world.js'
import { FixtureModule } from './fixture-application.js'
import { PartsModule } from './sixty-records.js'
import { OddModule } from './unusual-application.js'

/** @returns the references that lead nowhere */
function findDangling(document: object): string[] {
  const dangling: string[] = []
  const isFound = (reference: string): boolean => {
    const keys = reference.slice('#/'.length).split('/')
    const names = keys.map((key) => decodeURIComponent(key).replace(/~1/g, '/').replace(/~0/g, '~'))
    let part: unknown = document
    for (const name of names) part = (part as Record<string, unknown> | undefined)?.[name]
    return part !== undefined
  }
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, part] of Object.entries(value)) {
      const isReference = typeof part === 'string' && (key === '$ref' || part.startsWith('#/'))
      if (isReference && !isFound(part)) dangling.push(part)
      visit(part)
    }
  }
  visit(document)
  return dangling
}

async function findDanglingOf(application: Application): Promise<string[]> {
  const found: string[] = []
  for (const filters of ['exact', 'compact']) {
    const response = await application.inject(`/swagger/openapi.json?filters=${filters}`)
    expect(response.status).toBe(200)
    found.push(...findDangling(response.json() as object))
  }
  return found
}

describe('the references of a document', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-references-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const applications = { AppModule, Desk, Office, FixtureModule, PartsModule, OddModule }

  describe.each(['3.1', '3.2'] as const)('in OpenAPI %s', (openapi) => {
    it.each(Object.entries(applications))('of %s lead to its parts', async (_name, module) => {
      const options: BootstrapOptions = { listen: false, logger: false, env: {}, docs: { openapi } }
      await using application = await bootstrap(module, { ...options, database: 'sqlite::memory:' })
      expect(await findDanglingOf(application)).toEqual([])
    })
  })

  it('of the atlas lead to its parts', async () => {
    await using application = await startAtlas({ url: 'sqlite::memory:', folder })
    expect(await findDanglingOf(application)).toEqual([])
  })
})
