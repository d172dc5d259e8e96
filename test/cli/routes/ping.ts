import { Controller, Get } from 'filigree'

@Controller('/ping')
export default class PingController {
  @Get
  ping() {
    return 'pong'
  }
}
