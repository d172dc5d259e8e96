/** Modules with invalid paths, for the report of their source lines. */
import { Module } from 'filigree'
import { health } from 'filigree/health'
import { metrics } from 'filigree/metrics'

@Module({
  imports: [metrics({ path: 'metrics' }), health({ path: '/<a:integr>' })],
})
export class AppModule {}
