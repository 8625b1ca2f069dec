//! `serve`: the API and what keeps runs going, until a signal.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use control_plane::config::Config;
use control_plane::http;
use control_plane::machine::Machines;
use control_plane::run::engine::Engine;
use control_plane::run::result::MACHINE_SLACK_BYTES;
use control_plane::store::pool::{self, Statements};
use control_plane::telemetry::chain;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Connections to the database.
const CONNECTIONS: u32 = 24;
/// Time at a stop for requests in flight, and then for calls.
const GRACE: Duration = Duration::from_secs(8);

/// Everything that the configuration names, before anything is bound.
pub(super) fn parts(config: &Config) -> anyhow::Result<Arc<Engine>> {
    let slack = usize::try_from(MACHINE_SLACK_BYTES).unwrap_or(usize::MAX);
    let machines = Machines::new(
        config.machines.as_ref(),
        config.tool_result_max_bytes + slack,
    )?;
    // A pool is bound to a runtime only once it connects.
    let pool = pool::connect_lazily(
        &config.database_url,
        CONNECTIONS,
        Statements::Within(config.statement_timeout),
    )
    .context("the database URL makes no sense")?;
    Ok(Engine::new(
        pool,
        machines,
        &config.digest_key,
        config.vault.clone(),
        config.tool_result_max_bytes,
    ))
}

pub(super) fn serve(config: Config) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime did not start")?
        .block_on(until_signal(config))
}

async fn until_signal(config: Config) -> anyhow::Result<()> {
    let engine = parts(&config)?;
    if let Err(error) = pool::ready(engine.pool()).await {
        // The database may come later; readiness tells until then.
        tracing::warn!(error = chain(&error), "not ready yet");
    }
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM can't be caught")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT can't be caught")?;
    let (stop, stopped) = watch::channel(false);
    let fed = tokio::spawn(feed(Arc::clone(&engine), stopped.clone()));
    let woken = tokio::spawn(Arc::clone(&engine).wake(stopped.clone()));
    let followed = tokio::spawn(follow(Arc::clone(&engine), stopped.clone()));
    let maintained = tokio::spawn(Arc::clone(&engine).maintain(stopped.clone(), GRACE));
    let served = http::serve(
        Arc::clone(&engine),
        config.listen,
        config.tls.as_ref(),
        config.public_url.as_deref(),
        stopped,
        GRACE,
    );
    let mut served = std::pin::pin!(served);
    let result = tokio::select! {
        result = served.as_mut() => result,
        _ = terminate.recv() => stop_serving(&stop, served).await,
        _ = interrupt.recv() => stop_serving(&stop, served).await,
    };
    stop.send_replace(true);
    maintained
        .await
        .context("the maintenance of runs panicked")?;
    fed.await.context("the feed of events panicked")?;
    woken.await.context("the firing of schedules panicked")?;
    followed.await.context("the following of runs panicked")?;
    engine.pool().close().await;
    tracing::info!("stopped");
    Ok(result?)
}

async fn feed(engine: Arc<Engine>, stop: watch::Receiver<bool>) {
    engine.feed().run(engine.pool(), stop).await;
}

async fn follow(engine: Arc<Engine>, stop: watch::Receiver<bool>) {
    engine.followers().run(engine.pool(), stop).await;
}

async fn stop_serving(
    stop: &watch::Sender<bool>,
    served: std::pin::Pin<&mut impl Future<Output = Result<(), http::ServeError>>>,
) -> Result<(), http::ServeError> {
    tracing::info!("stopping");
    stop.send_replace(true);
    served.await
}
