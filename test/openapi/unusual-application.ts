/** An application with unusual names and texts. */
import { Controller, Delete, Doc, Field, Get, Module, Page, partial, Post } from 'filigree'

const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)> "'\\ {{}} \u2028`

class Größe {
  @Field('string', { pattern: /^[\w-.]+$/, description: evil }) 'a b'!: string
  @Field('integer', { oneOf: [1, 2], nullable: true, default: () => 1 }) $x!: number | null
  @Field('string', { pattern: /^ä$/i, example: 'Ä' }) ärger!: string
  @Field('string', { example: evil, optional: true }) böse?: string
  @Field(() => Größe, { nullable: true, optional: true }) self?: Größe | null
  @Field(() => Other, { list: true, optional: true }) children?: Other[]
}

class Other {
  @Field(() => Größe) back!: Größe
  @Field('id', { readOnly: true, key: 'uuid' }) id!: string
}

class Changes extends partial(Größe) {}

function makeController(path: string) {
  @Controller(path)
  @Doc({ tags: [evil, 'ü/x'], description: evil })
  class TwinController {
    @Get('/')
    @Doc({ summary: evil, description: evil, exampleResponse: { [evil]: evil } })
    'do it!'() {
      return {}
    }

    @Get('/<$id>')
    show($id: string) {
      return $id
    }

    @Get('/<n:int>', { returns: Größe })
    number(n: number) {
      return n
    }

    @Get('/<u:uuid>', { returns: Page.of(Größe) })
    uuid(u: string) {
      return u
    }

    @Delete('/<other>')
    remove(other: string) {
      return other
    }

    @Post('/%41é~ b/<rest:path>', { body: Changes, returns: [Größe] })
    @Doc({ example: [evil], responses: { 299: evil, 404: { description: evil, type: Other } } })
    @Post('/again', { body: [Größe] })
    many() {
      return []
    }
  }
  return TwinController
}

@Module({ controllers: [makeController('/one'), makeController('/two'), makeController('/')] })
export class OddModule {}
