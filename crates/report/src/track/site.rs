//! The site: pages, data and a feed that any host of files can serve, and that a browser shows from
//! a folder. Two sites of one history are equal to the byte.

use std::collections::BTreeMap;

use rqps_analysis::track::TrackHistory;
use serde::Serialize;

use super::words::slug;
use super::{change, exchange, feed, imported, page, start};
use crate::File;

/// The name of the site's list of contents; it changes when its form breaks readers of the old one.
const SITE_SCHEMA: &str = "rqps-site/1";

/// What a site has beside the history.
#[derive(Default)]
pub struct SiteOptions {
    /// Where it will be served, for links in the feed.
    pub base_url: Option<String>,
    /// The commits between the builds of a change, by its id.
    pub commits: BTreeMap<String, Vec<String>>,
}

/// All files of the site.
pub fn track_site(history: &TrackHistory<'_>, options: &SiteOptions) -> Vec<File> {
    let mut files = Vec::new();
    let mut put = |name: String, contents: String| {
        files.push(File { name, contents: contents.into_bytes() });
    };
    for (line, series) in history.all_series() {
        let slug = slug(line.name, series.test);
        put(format!("t/{slug}.html"), page::page(history, line, series));
        put(format!("data/{slug}.json"), exchange::series_json(line, series));
        put(format!("badge/{slug}.svg"), feed::badge(line, series));
    }
    for (slug, page) in imported::pages(history) {
        put(format!("t/{slug}.html"), page);
    }
    // A change that was told has a page for ever: people keep links to it.
    let lost = history.lines.iter().flat_map(|line| line.lost.iter().map(move |it| (line, *it)));
    for (line, alert) in lost {
        put(format!("c/{}.html", alert.id), change::lost_page(history, line, alert));
    }
    for line in &history.lines {
        for group in &line.changes {
            put(
                format!("c/{}.html", group.id),
                change::page(history, line, group, &options.commits),
            );
        }
    }
    put("feed.xml".to_string(), feed::feed(history, options.base_url.as_deref()));
    put("points.csv".to_string(), exchange::points_csv(history));
    put("index.html".to_string(), start::page(history));
    let names = files.iter().map(|file| file.name.clone()).collect();
    // It is the first: a folder with it is one that rqps has made.
    let list = File { name: "site.json".to_string(), contents: list(history, names).into_bytes() };
    files.insert(0, list);
    files
}

fn list(history: &TrackHistory<'_>, files: Vec<String>) -> String {
    #[derive(Serialize)]
    struct SiteList<'a> {
        schema: &'static str,
        last_night: Option<&'a str>,
        files: Vec<String>,
    }
    let last_night = history.latest().map(|night| night.id.as_str());
    let list = SiteList { schema: SITE_SCHEMA, last_night, files };
    serde_json::to_string_pretty(&list).expect("it holds only text") + "\n"
}
