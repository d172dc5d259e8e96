/** Addresses of resources: the variables of a template, whatever a client sends. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Controller, DeclarationError, Module } from 'filigree'
import { mcp, Resource } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { sendRequest } from './mcp-requests.js'

@Controller()
class Guides {
  @Resource('desk://guide/{name}') guide(name: string): string {
    return `guide ${name}`
  }
  @Resource('desk://{kind}-{year}-{place}/end') place(
    kind: string,
    year: string,
    place: string,
  ): object {
    return { kind, year, place }
  }
}

@Module({ controllers: [Guides], imports: [mcp()] })
class GuideModule {}

let desk: TestApplication
beforeAll(async () => {
  desk = await testApplication(GuideModule)
})
afterAll(() => desk.close())

async function read(uri: string): Promise<unknown> {
  const { result, error } = await sendRequest(desk, 'resources/read', { params: { uri } })
  const [content] = (result?.contents ?? []) as { readonly text: string }[]
  return content?.text ?? error?.code
}

describe('the address of a resource', () => {
  it.each([
    ['desk://guide/start', 'guide start'],
    ['desk://guide/a%20b', 'guide a b'],
    ['desk://guide/', -32602],
    ['desk://guide/a/b', -32602],
    ['desk://guide/%00', -32602],
    ['desk://guide/%zz', -32602],
    ['desk://a-2026-c/end', '{"kind":"a","year":"2026","place":"c"}'],
    ['desk://a-2026-c-d/end', '{"kind":"a","year":"2026","place":"c-d"}'],
    ['desk://a--c/end', -32602],
    ['desk://a-b/end', -32602],
    ['desk://a-b-/end', -32602],
  ])('%s', async (uri, expected) => {
    expect(await read(uri)).toBe(expected)
  })

  it('is parsed in linear time', async () => {
    expect(await read(`desk://${'-'.repeat(500_000)}`)).toBe(-32602)
  })

  it('has a separator between two variables', async () => {
    @Controller()
    class Odd {
      @Resource('desk://{one}{two}') both(): string {
        return ''
      }
    }
    @Module({ controllers: [Odd], imports: [mcp()] })
    class OddModule {}
    await expect(testApplication(OddModule)).rejects.toThrow(DeclarationError)
  })
})
