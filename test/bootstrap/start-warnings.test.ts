import { describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Field, Module, NoAuth, Post, Record } from 'filigree'
import { silentLog } from '../silent-log.js'

class Search {
  @Field('string', { pattern: /^(a+)+$/ }) text!: string
}

@Controller('/search')
class SearchController {
  @Post('/', { body: Search })
  @NoAuth
  find(body: Search): Search {
    return body
  }
}

@Module({ controllers: [SearchController] })
class SearchModule {}

describe('a slow pattern of an input', () => {
  it('is logged, and the application starts', async () => {
    const warnings: unknown[] = []
    const warn = (details: object, message: string): void => void warnings.push([details, message])
    const app = await bootstrap(SearchModule, { listen: false, logger: { ...silentLog, warn } })
    expect(warnings).toContainEqual([
      { code: 'FIELD_PATTERN_SLOW' },
      'Search.text: pattern /^(a+)+$/ can take very long on hostile text. Do not repeat what already repeats, and set a maxLength.',
    ])
    await app.close()
  })

  it('is logged once for a record, whose routes have their own classes', async () => {
    @Record()
    class Contract {
      @Field('id') id!: number
      @Field('string', { pattern: /^(a+)+$/ }) code!: string
    }
    @Controller('/contracts', { crud: Contract })
    class ContractController {}
    @Module({ controllers: [ContractController], records: [Contract] })
    class ContractModule {}
    const warnings: string[] = []
    const warn = (_details: object, message: string): void => void warnings.push(message)
    const options = { listen: false, database: 'sqlite::memory:' }
    const app = await bootstrap(ContractModule, { ...options, logger: { ...silentLog, warn } })
    await app.close()
    expect(warnings.filter((message) => message.includes('Contract.code'))).toEqual([
      'Contract.code: pattern /^(a+)+$/ can take very long on hostile text. Do not repeat what already repeats, and set a maxLength.',
    ])
  })
})
