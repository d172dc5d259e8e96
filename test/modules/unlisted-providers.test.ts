/**
 * Decorated classes that no module lists are warnings, because another process or role may use them.
 *
 * @jest-environment node
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  ApplicationState,
  bootstrap,
  Controller,
  createModule,
  createMetadata,
  Get,
  HealthCheck,
  Module,
  type Application,
} from 'filigree'
import { health } from 'filigree/health'
import { Cron, Every, Job, jobs } from 'filigree/jobs'
import { silentLog } from '../silent-log.js'

let app: Application | undefined
afterEach(() => app?.close())

/** @returns the warnings of the start */
async function warningsOf(module: new () => object): Promise<string[]> {
  const warnings: string[] = []
  const warn = (details: object, message: string): void => {
    warnings.push(`${String(Reflect.get(details, 'code'))}: ${message}`)
  }
  app = await bootstrap(module, {
    listen: false,
    logger: { ...silentLog, warn },
    env: {},
    database: 'sqlite::memory:',
  })
  return warnings
}

function warningOf(name: string, uses: string): unknown {
  return expect.stringMatching(
    new RegExp(
      `^UNLISTED_PROVIDER: ${name} \\(test/modules/unlisted-providers\\.test\\.ts:\\d+\\) has ${uses}, but no module lists it\\. Add ${name} to the providers of a module, unless another process uses it\\.$`,
    ),
  )
}

class ForgottenMail {
  @Job() welcome(): void {
    return undefined
  }
  @Job() remind(): void {
    return undefined
  }
}

class ForgottenReports {
  @Cron('0 3 * * *') nightly(): void {
    return undefined
  }
  @Every('10m') often(): void {
    return undefined
  }
}

class ForgottenStore {
  @HealthCheck('store') ping(): void {
    return undefined
  }
}

abstract class Base {
  @Job() inherited(): void {
    return undefined
  }
}
class Derived extends Base {}

class Value {
  @Job() ofValue(): void {
    return undefined
  }
}

class OfAnotherApplication {
  @Job() elsewhere(): void {
    return undefined
  }
}

@Module({ providers: [() => OfAnotherApplication] })
class AnotherModule {}

@Controller('/jobs')
class JobController {
  @Get('/')
  @Job()
  ofController(): string {
    return ''
  }
}

describe('a class in the providers of no module', () => {
  it('is a warning in a process that runs jobs', async () => {
    @Module({
      imports: [jobs({ work: true })],
      controllers: [JobController],
      providers: [Derived, { provide: 'value', use: new Value() }],
    })
    class AppModule {}
    expect(await warningsOf(AppModule)).toEqual([
      warningOf(ForgottenMail.name, '@Job on welcome, remind'),
      warningOf(ForgottenReports.name, '@Cron on nightly'),
      warningOf(ForgottenReports.name, '@Every on often'),
    ])
    expect(AnotherModule.name).toBe('AnotherModule')
  })

  it.each([[undefined], [{ work: false }]])(
    'is no warning in a process that only adds jobs: jobs(%j)',
    async (options) => {
      @Module({ imports: [jobs(options)] })
      class AppModule {}
      expect(await warningsOf(AppModule)).toEqual([])
    },
  )

  it('is a warning where it has health checks', async () => {
    @Module({ imports: [health()] })
    class AppModule {}
    expect(await warningsOf(AppModule)).toEqual([
      warningOf(ForgottenStore.name, '@HealthCheck on ping'),
    ])
  })

  it('is a warning of a package with a decorator of its own', async () => {
    const Nightly = createMetadata<[hour: number]>('Nightly')
    class Cleaner {
      @Nightly(3) tidy(): void {
        return undefined
      }
    }
    class Runner {
      static inject = [ApplicationState]
      constructor(private readonly state: ApplicationState) {}
      onStart(): void {
        Nightly.warnUnlisted(this.state)
      }
    }
    const nightly = createModule(function nightly() {
      return { providers: [Runner] }
    })
    @Module({ imports: [nightly()] })
    class AppModule {}
    expect(await warningsOf(AppModule)).toEqual([warningOf('Cleaner', '@Nightly on tidy')])
    await app?.close()
    @Module({ imports: [nightly()], providers: [Cleaner] })
    class ListedModule {}
    expect(await warningsOf(ListedModule)).toEqual([])
  })

  it('is no warning in an application without the module that reads the decorator', async () => {
    @Module()
    class AppModule {}
    expect(await warningsOf(AppModule)).toEqual([])
  })
})
